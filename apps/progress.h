// Progress on stderr: a line per level with the similarity and the time left. On a terminal the
// current level's line moves.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <apps/options.h>
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
  /// work_per_level: voxels times iterations of the nonrigid levels, coarse to fine, for the
  /// estimate; empty where there are none.
  Progress(std::string similarity_name, std::vector<double> work_per_level, Verbosity verbosity);

  void announce(const std::string& lines) const;

  void on_stage(Stage stage) override;
  void on_iteration(const LevelRecord& level) override;
  void on_level_done(const LevelRecord& level) override;
  bool stop_requested() override;

 private:
  std::string line(const LevelRecord& level) const;
  double seconds_left(const LevelRecord& level, bool level_is_done) const;

  std::string similarity_name_;
  std::vector<double> work_;
  bool terminal_, shown_, estimates_ = false;
  int first_level_ = -1;  // of the stage, since a start may leave out coarse ones
  std::chrono::steady_clock::time_point start_, last_print_;
};

}  // namespace freeflow::apps
