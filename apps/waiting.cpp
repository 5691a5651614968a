#include <apps/waiting.h>

#include <omp.h>
#include <unistd.h>

#include <cstdlib>

namespace freeflow::apps {

void let_waiting_threads_sleep(char** arguments) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  if (omp_get_max_threads() == 1) return;
  // About 0.1 ms: longer than threads wait between two loops of an iteration, shorter than what
  // another process would miss.
  if (setenv("GOMP_SPINCOUNT", "10000", 1) != 0) return;
  execv("/proc/self/exe", arguments);  // where that fails, threads wait as libgomp has it
}

}  // namespace freeflow::apps
