// What progress says of a level, and how long a registration goes on.
#pragma once

#include <string>
#include <vector>

#include <freeflow/registration/observer.h>

namespace freeflow::apps {

/// "flow 2/4  80x96x112  iteration 12 of 60  lncc cost -0.51234 -> -0.61234": the measure's part of
/// the cost, with the sign that the report gives it, on the level's first iteration and now.
std::string progress_line(const std::string& stage, const std::string& measure,
                          const LevelRecord& level);

/// The first `columns` characters of a line of ASCII.
std::string clipped(const std::string& line, int columns);

/// Of a stage's levels, from how long its iterations took so far.
class TimeLeft {
 public:
  /// work_per_level: voxels times iterations of each level at most, coarse to fine.
  explicit TimeLeft(std::vector<double> work_per_level) : work_(std::move(work_per_level)) {}

  /// After every iteration, `seconds` after any fixed moment.
  void after_iteration(const LevelRecord& level, double seconds);
  /// Seconds at most, as levels may end early; negative while nothing can be said: within the first
  /// half second of iterations.
  double seconds_left() const;

 private:
  std::vector<double> work_;
  double begin_ = -1, now_ = 0;
  double done_ = 0;    ///< work between the two
  double before_ = 0;  ///< of the level, at the last call
  double left_ = 0;
  int level_ = -1;
};

}  // namespace freeflow::apps
