// How a pipeline tells what it does and asks whether to go on. The library never prints.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <freeflow/core/cancelled.h>
#include <freeflow/core/views.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

/// One accepted iteration.
struct IterationRecord {
  int iteration = 0;
  double cost = 0;        ///< what the optimizer lowers: the similarity and the weighted penalties
  double similarity = 0;  ///< its similarity part
  std::vector<double> penalties;  ///< the penalties' values, unweighted, in the pipeline's order
  double step_mm = 0;             ///< how far the parameters moved at most
};

/// One level of the pyramid, coarse to fine.
struct LevelRecord {
  int level = 0, levels = 1;
  Extent grid;  ///< of the fixed image, or of its content where the model works on that
  int max_iterations = 0;
  std::vector<std::string> penalty_names;  ///< of IterationRecord::penalties
  std::vector<IterationRecord> iterations;
  int evaluations = 0;  ///< of the cost and force; each waits for the device once
  int regriddings = 0;  ///< of a fluid
  std::string stopped_because;
  double seconds = 0;
};

/// The parts of a registration that an observer is told of.
enum class Stage { linear, start, nonrigid, inverse };

class Observer {
 public:
  virtual ~Observer() = default;
  /// A stage begins.
  virtual void on_stage(Stage) {}
  virtual void on_iteration(const LevelRecord& /*level_so_far*/) {}
  virtual void on_level_done(const LevelRecord&) {}
  /// The displacement that the result will have, on the fixed image's grid as it came; what inverts
  /// it comes next. For who saves it meanwhile.
  virtual void on_displacement(Context&, const DisplacementField&) {}
  /// Asked once per iteration, and while folds are taken out and the inverse is found; true ends
  /// the registration with Cancelled.
  virtual bool stop_requested() { return false; }
  /// The same as long work takes it; the observer must outlive it.
  StopRequest stop_request() {
    return [this] { return stop_requested(); };
  }
};

/// Tells nobody; hands on the wish to stop.
class StopObserver : public Observer {
 public:
  explicit StopObserver(StopRequest stop) : stop_(std::move(stop)) {}
  bool stop_requested() override { return stop_ && stop_(); }

 private:
  StopRequest stop_;
};

}  // namespace freeflow
