#include <apps/atlas/processes.h>
#include <freeflow/core/error.h>

#include <cstdlib>
#include <string>

namespace freeflow::apps {

namespace {

bool several(const char* variable) {
  const char* processes = std::getenv(variable);
  return processes && std::atoi(processes) > 1;
}

}  // namespace

std::unique_ptr<Processes> join_processes() {
  // Each of them would take the whole group and write the same files.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (several(variable))
      throw InvalidArgument(
          "this atlas was built for one process, and several were started: configure with "
          "-DFREEFLOW_WITH_MPI=ON, or start one");
  return std::make_unique<Processes>();
}

}  // namespace freeflow::apps
