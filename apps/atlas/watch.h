// Progress of a template on stderr, with the time left.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <apps/progress.h>
#include <freeflow/atlas/atlas.h>

namespace freeflow::apps {

/// Of every round for one subject, in iterations at full resolution: all levels for the first, the
/// finest for those that go on, and the average.
std::vector<double> work_of_rounds(const AtlasOptions& options);

class Watch : public AtlasObserver {
 public:
  Watch(const AtlasOptions& options, Verbosity verbosity);

  void announce(const std::string& lines) const;
  void on_subject(AtlasStage stage, int round, std::size_t done, std::size_t all,
                  bool resumed) override;
  void on_round(const AtlasRound& round) override;
  bool stop_requested() override;

 private:
  using Clock = std::chrono::steady_clock;
  /// Work of a step for one subject, in iterations at full resolution.
  double work_of(std::size_t step) const {
    return step < work_.size() ? work_[step] : work_.back();
  }
  double seconds_left(std::size_t step, std::size_t done, std::size_t all) const;

  std::vector<double> work_;  ///< of the two linear stages, then of the rounds
  bool terminal_, shown_;
  double done_work_ = 0, seconds_ = 0;
  Clock::time_point last_;
};

}  // namespace freeflow::apps
