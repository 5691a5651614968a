// Progress on stderr: a line per level with its cost and the time left. On a terminal the current
// level's line moves.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <apps/options.h>
#include <apps/progress_line.h>
#include <freeflow/registration/observer.h>

namespace freeflow::apps {

enum class Verbosity {
  quiet,
  automatic,  ///< speaks when stderr is a terminal
  verbose
};

Verbosity verbosity(bool verbose, bool quiet);
inline Verbosity verbosity(const CommonOptions& o) { return verbosity(o.verbose, o.quiet); }

bool stderr_is_terminal();

class Progress : public Observer {
 public:
  /// model: what the nonrigid stage is called; similarity: --similarity's word, and what the linear
  /// stage compares by. work_per_level: the model's levels', as TimeLeft takes it; empty where
  /// there are none.
  Progress(std::string model, std::string similarity, std::string of_linear_stage,
           std::vector<double> work_per_level, Verbosity verbosity);

  ~Progress() override { end_line(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void announce(const std::string& lines) const;
  /// Before something else is printed: takes away a line that moves.
  void end_line();

  void on_stage(Stage stage) override;
  void on_iteration(const LevelRecord& level) override;
  void on_level_done(const LevelRecord& level) override;
  bool stop_requested() override;

 private:
  std::string line(const LevelRecord& level) const;
  /// "  at most 12 s left", or nothing.
  std::string time_left() const;
  /// A line that the next one replaces.
  void show(const std::string& line);

  std::string model_, similarity_, of_linear_stage_;
  TimeLeft left_;
  Stage stage_ = Stage::linear;
  bool terminal_, shown_, line_moves_ = false;
  std::chrono::steady_clock::time_point last_print_;
};

}  // namespace freeflow::apps
