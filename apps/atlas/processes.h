// The processes that build a template together: this one alone, or those that mpirun or srun
// started, where the program was built with MPI.
#pragma once

#include <memory>

#include <freeflow/atlas/ranks.h>

namespace freeflow::apps {

class Processes : public Ranks {
 public:
  /// Number of this process among those on its machine: which GPU is its own.
  virtual int rank_on_machine() const { return 0; }
  /// Ends all processes, for one that fails while others wait for it.
  virtual void abandon(int /*status*/) {}
};

std::unique_ptr<Processes> join_processes();

}  // namespace freeflow::apps
