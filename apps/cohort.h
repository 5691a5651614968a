// Many pairs by one process and one context: while one is computed the next is read and the last is
// written. A pair that fails does not end the others.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <apps/pair_run.h>
#include <apps/progress.h>

namespace freeflow::apps {

struct CohortOptions {
  std::string program, device;
  int threads = 0;
  Verbosity verbosity = Verbosity::automatic;
  std::string summary;  ///< a table that is written in the end, or empty
};

struct CohortPair {
  std::string output;  ///< what the pair is called
  /// The pair's work; what it says about the pair begins with `label`.
  std::function<std::unique_ptr<PairRun>(const std::string& label)> make;
};

/// Runs them in their order, but for those that were made already, and says on stderr how many
/// ended how. Returns the exit status: 1 where a pair failed. Throws Interrupted, DeviceError and
/// InvalidArgument for the device, IoError for the summary.
int run_cohort(const CohortOptions& options, const std::vector<CohortPair>& pairs);

}  // namespace freeflow::apps
