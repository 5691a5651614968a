#include <apps/atlas/processes.h>

#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include <freeflow/core/error.h>

namespace freeflow::apps {

namespace {

class MpiProcesses : public Processes {
 public:
  MpiProcesses() {
    // the thread that writes states calls no MPI
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm machine;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &on_machine_);
    MPI_Comm_free(&machine);
  }
  ~MpiProcesses() override { MPI_Finalize(); }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int rank_on_machine() const override { return on_machine_; }
  void sum(std::span<std::int64_t> words) override {
    constexpr std::size_t most = std::size_t(1) << 26;  // MPI counts in an int
    for (std::size_t at = 0; at < words.size(); at += most)
      MPI_Allreduce(MPI_IN_PLACE, words.data() + at, int(std::min(most, words.size() - at)),
                    MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  }
  void abandon(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  int rank_ = 0, size_ = 1, on_machine_ = 0;
};

/// Whether mpirun or srun started this: MPI alone would start helpers of its own.
bool was_launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"})
    if (std::getenv(name)) return true;
  return false;
}

}  // namespace

std::unique_ptr<Processes> join_processes() {
  if (!was_launched()) return std::make_unique<Processes>();
  return std::make_unique<MpiProcesses>();
}

}  // namespace freeflow::apps
