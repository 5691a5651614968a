#include <apps/progress.h>

#include <sys/ioctl.h>
#include <unistd.h>

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

namespace {

double seconds_of(Clock::time_point t) {
  return std::chrono::duration<double>(t.time_since_epoch()).count();
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Progress::Progress(std::string model, std::string similarity, std::string of_linear_stage,
                   std::vector<double> work_per_level, Verbosity verbosity)
    : model_(std::move(model)), similarity_(std::move(similarity)),
      of_linear_stage_(std::move(of_linear_stage)), left_(std::move(work_per_level)),
      terminal_(stderr_is_terminal()),
      shown_(verbosity == Verbosity::verbose || (verbosity == Verbosity::automatic && terminal_)),
      last_print_(Clock::now()) {}

void Progress::announce(const std::string& lines) const {
  if (shown_) std::fputs(lines.c_str(), stderr);
}

std::string Progress::line(const LevelRecord& level) const {
  if (stage_ != Stage::linear) return progress_line(model_, similarity_, level);
  return progress_line("linear", of_linear_stage_, level);
}

std::string Progress::time_left() const {
  const double left = stage_ == Stage::nonrigid ? left_.seconds_left() : -1;
  return left < 0 ? "" : "  at most " + std::to_string(long(std::ceil(left))) + " s left";
}

void Progress::show(const std::string& line) {
  // A line as wide as the terminal would be broken in two, and only one of them replaced.
  std::fprintf(stderr, "\r\033[K%s", clipped(line, terminal_columns() - 1).c_str());
  line_moves_ = true;
}

void Progress::end_line() {
  if (line_moves_) std::fputs("\r\033[K", stderr);
  line_moves_ = false;
}

void Progress::on_stage(Stage stage) {
  stage_ = stage;
  end_line();
  if (!shown_ || !terminal_) return;
  if (stage == Stage::start) show("start: looking for large motion");
  if (stage == Stage::inverse) show("inverse: taking out folds, inverting");
}

void Progress::on_iteration(const LevelRecord& level) {
  const auto now = Clock::now();
  if (stage_ == Stage::nonrigid) left_.after_iteration(level, seconds_of(now));
  if (!shown_ || !terminal_ || now - last_print_ < std::chrono::milliseconds(100)) return;
  last_print_ = now;
  show(line(level) + time_left());
}

void Progress::on_level_done(const LevelRecord& level) {
  if (!shown_) return;
  end_line();
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "  %.2f s", level.seconds);
  std::string ended = line(level) + seconds + " (" + level.stopped_because + ")" +
                      (level.level + 1 < level.levels ? time_left() : "");
  if (terminal_) ended = clipped(ended, terminal_columns() - 1);
  std::fprintf(stderr, "%s\n", ended.c_str());
}

bool Progress::stop_requested() { return interrupt_requested(); }

}  // namespace freeflow::apps
