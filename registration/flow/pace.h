// Private: how long the steps of a flow are and when a level ends.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <freeflow/registration/observer.h>

namespace freeflow {

/// When a level ends: the steps keep their length while a `window` of them still lowers the cost,
/// then are halved, and after the last of `sizes` there is nothing left to gain.
class FlowPace {
 public:
  FlowPace(double step, double tolerance, int sizes, int window = 10)
      : step_(step), smallest_(std::ldexp(step, 1 - sizes)), tolerance_(tolerance),
        window_(window) {}
  double step() const { return step_; }
  /// Whether the last cost was no gain.
  bool idles() const { return idle_ > 0; }

  /// Takes the cost of an iteration; false: enough.
  bool goes_on(double cost) {
    if (!(cost < best_ - tolerance_ * std::abs(best_))) {
      if (++idle_ >= window_) {
        step_ *= 0.5;
        idle_ = 0;
      }
    } else {
      idle_ = 0;
      best_ = cost;
    }
    return step_ >= smallest_;
  }

 private:
  double step_, smallest_, tolerance_, best_ = std::numeric_limits<double>::max();
  int window_, idle_ = 0;
};

/// Whether a level ended lower than it began, or none had anything to do. A fluid whose every step
/// was taken back has no iterations.
inline bool any_level_gained(const std::vector<LevelRecord>& levels) {
  return std::any_of(levels.begin(), levels.end(),
                     [](const LevelRecord& l) {
                       return !l.iterations.empty() &&
                              l.iterations.back().cost < l.iterations.front().cost;
                     }) ||
         std::all_of(levels.begin(), levels.end(),
                     [](const LevelRecord& l) { return l.max_iterations == 0; });
}

}  // namespace freeflow
