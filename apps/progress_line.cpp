#include <apps/progress_line.h>

#include <algorithm>
#include <cstdio>

namespace freeflow::apps {

std::string progress_line(const std::string& stage, const std::string& measure,
                          const LevelRecord& level) {
  std::string name = stage + " " + std::to_string(level.level + 1) + "/" +
                     std::to_string(level.levels) + "  " + std::to_string(level.grid.x) + "x" +
                     std::to_string(level.grid.y) + "x" + std::to_string(level.grid.z);
  if (level.iterations.empty()) return name;
  // The first record is where the level begins. A linear level may be descended several times.
  const int done = int(level.iterations.size()) - 1;
  const std::string of =
      done <= level.max_iterations ? " of " + std::to_string(level.max_iterations) : "";
  char costs[80];
  std::snprintf(costs, sizeof costs, " cost %.5f -> %.5f", level.iterations.front().similarity,
                level.iterations.back().similarity);
  return name + "  iteration " + std::to_string(done) + of + "  " + measure + costs;
}

std::string clipped(const std::string& line, int columns) {
  return line.substr(0, std::size_t(std::max(0, columns)));
}

void TimeLeft::after_iteration(const LevelRecord& level, double seconds) {
  if (level.level >= int(work_.size()) || level.max_iterations < 1) return;
  const double whole = work_[std::size_t(level.level)];
  const double iterations = double(level.iterations.size()) - 1;
  const double of_level = whole * std::min(1.0, iterations / level.max_iterations);
  if (level.level != level_) {
    // Voxels of a coarser level cost more each: they say nothing of this one's.
    level_ = level.level;
    begin_ = seconds;
    done_ = 0;
  } else {
    done_ += of_level - before_;
  }
  before_ = of_level;
  now_ = seconds;
  left_ = whole - of_level;
  for (std::size_t l = std::size_t(level.level) + 1; l < work_.size(); ++l) left_ += work_[l];
}

double TimeLeft::seconds_left() const {
  const double measured = now_ - begin_;
  return level_ < 0 || done_ <= 0 || measured < 0.5 ? -1 : measured * left_ / done_;
}

}  // namespace freeflow::apps
