// Many pairs by one process. Of each worker, one pair is computed while its next is read and its
// last is written; several workers, a context each, share a device that one pair does not fill. A
// pair that fails does not end the others.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <apps/kept_images.h>
#include <apps/pair_run.h>
#include <apps/progress.h>

namespace freeflow::apps {

struct CohortOptions {
  std::string program, device;
  int threads = 0;
  /// Pairs that are computed at a time at most; 0: six by a GPU, one by a CPU, and one where the
  /// verbosity shows what it does.
  int jobs = 0;
  Verbosity verbosity = Verbosity::automatic;
  std::string summary;  ///< a table that is written when it begins and ends, or empty
};

struct CohortPair {
  std::string output;               ///< what the pair is called
  std::vector<std::string> inputs;  ///< files that it reads
  /// The pair's work; what it says about the pair begins with `label`. What is kept is its
  /// worker's.
  std::function<std::unique_ptr<PairRun>(const std::string& label, KeptImages& kept)> make;
};

/// Runs them, but for those that were made already, and says on stderr which inputs are missing
/// before the first, and how many ended how after the last. The
/// first is computed alone; then as many at a time as there is memory for. What does not fit after
/// all is tried again alone. Returns the exit status: 1 where a pair failed. Throws Interrupted,
/// DeviceError and InvalidArgument for the device, IoError for the summary.
int run_cohort(const CohortOptions& options, const std::vector<CohortPair>& pairs);

}  // namespace freeflow::apps
