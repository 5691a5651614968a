// The work on one pair of files in three steps, which a cohort overlaps: while one pair is computed
// the next is read and the last is written.
#pragma once

#include <functional>
#include <future>
#include <string>

#include <freeflow/core/context.h>

namespace freeflow::apps {

/// What a pair's report says of it: a grade (good, look, bad) and a sentence; empty without a
/// report.
struct PairVerdict {
  std::string grade, sentence;
};

class PairRun {
 public:
  virtual ~PairRun() = default;
  /// Of a cohort, before read() and on any thread: whether the outputs are there, made from the
  /// same contents and options.
  virtual bool made_already() = 0;
  /// Files to host memory; on any thread.
  virtual void read() = 0;
  /// The work, after read(). What it returns ends the writing, moves the outputs to their places,
  /// no longer uses the context and may be called on another thread; the object must outlive it.
  /// beside_others: other pairs are at work too, whose lines of progress would mix with this one's.
  virtual std::function<void()> compute(Context& ctx, bool beside_others) = 0;
  /// Once the outputs are there, from made_already() or from what compute() returned.
  virtual PairVerdict verdict() const { return {}; }
};

/// A context that is made on another thread, as that takes a GPU a quarter of a second, in which
/// files can be read. `threads` 0: all that this thread may use.
std::future<Context> start_context(const std::string& device, int threads);

/// One pair alone; the device is started while its files are read.
void run_alone(PairRun& run, const std::string& device, int threads);

}  // namespace freeflow::apps
