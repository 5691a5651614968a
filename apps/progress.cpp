#include <apps/progress.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <apps/program.h>

namespace freeflow::apps {

using Clock = std::chrono::steady_clock;

Verbosity verbosity(bool verbose, bool quiet) {
  return quiet ? Verbosity::quiet : verbose ? Verbosity::verbose : Verbosity::automatic;
}

bool stderr_is_terminal() { return isatty(STDERR_FILENO); }

Progress::Progress(std::string similarity_name, std::vector<double> work_per_level,
                   Verbosity verbosity)
    : similarity_name_(std::move(similarity_name)), work_(std::move(work_per_level)),
      terminal_(stderr_is_terminal()),
      shown_(verbosity == Verbosity::verbose || (verbosity == Verbosity::automatic && terminal_)),
      start_(Clock::now()), last_print_(start_) {}

void Progress::announce(const std::string& lines) const {
  if (shown_) std::fputs(lines.c_str(), stderr);
}

double Progress::seconds_left(const LevelRecord& level, bool level_is_done) const {
  if (int(work_.size()) <= level.level) return 0;
  double done = 0, all = 0;
  for (std::size_t l = std::size_t(first_level_); l < work_.size(); ++l) {
    all += work_[l];
    if (int(l) < level.level) done += work_[l];
  }
  const double share =
      level_is_done ? 1.0 : double(level.iterations.size()) / std::max(1, level.max_iterations);
  done += work_[level.level] * share;
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  return done > 0 ? elapsed * (all - done) / done : 0;
}

std::string Progress::line(const LevelRecord& level) const {
  if (level.iterations.empty()) return "level " + std::to_string(level.level + 1);
  const double first = level.iterations.front().similarity,
               last = level.iterations.back().similarity;
  // The cost of NMI is its negative; people know the measure.
  const double sign = first < 0 ? -1 : 1;
  char text[200];
  std::snprintf(text, sizeof text, "level %d/%d  %dx%dx%d  iteration %zu/%d  %s %.5f -> %.5f",
                level.level + 1, level.levels, level.grid.x, level.grid.y, level.grid.z,
                level.iterations.size() - 1, level.max_iterations, similarity_name_.c_str(),
                sign * first, sign * last);
  return text;
}

void Progress::on_stage(Stage stage) {
  estimates_ = stage == Stage::nonrigid && !work_.empty();
  start_ = Clock::now();
  first_level_ = -1;
}

void Progress::on_iteration(const LevelRecord& level) {
  if (first_level_ < 0) first_level_ = level.level;
  if (!shown_ || !terminal_ || Clock::now() - last_print_ < std::chrono::milliseconds(100)) return;
  last_print_ = Clock::now();
  std::fprintf(stderr, "\r\033[K%s", line(level).c_str());
  if (estimates_)
    std::fprintf(stderr, "  about %.0f s left", std::ceil(seconds_left(level, false)));
}

void Progress::on_level_done(const LevelRecord& level) {
  if (first_level_ < 0) first_level_ = level.level;
  if (!shown_) return;
  std::fprintf(stderr, "%s%s  %.2f s", terminal_ ? "\r\033[K" : "", line(level).c_str(),
               level.seconds);
  if (level.level + 1 < level.levels && estimates_)
    std::fprintf(stderr, ", about %.0f s left", std::ceil(seconds_left(level, true)));
  std::fprintf(stderr, " (%s)\n", level.stopped_because.c_str());
}

bool Progress::stop_requested() { return interrupt_requested(); }

}  // namespace freeflow::apps
