#include <freeflow/python/native/observer.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

const char* word_of(Stage stage) {
  switch (stage) {
    case Stage::linear: return "linear";
    case Stage::start: return "start";
    case Stage::nonrigid: return "nonrigid";
    case Stage::inverse: return "inverse";
  }
  return "";
}

/// Number 0 is the start.
IterationRecord last_of(const LevelRecord& level) {
  return level.iterations.empty() ? IterationRecord{} : level.iterations.back();
}

}  // namespace

void PyObserver::on_stage(Stage stage) {
  stage_ = word_of(stage);
  report(stage_, 0, 0, 0, 0, 0);
}

void PyObserver::on_iteration(const LevelRecord& level) {
  const IterationRecord now = last_of(level);
  report(stage_, level.level, level.levels, now.iteration, level.max_iterations, now.cost);
}

void PyObserver::on_level_done(const LevelRecord& level) {
  const IterationRecord now = last_of(level);
  report(stage_, level.level, level.levels, now.iteration, now.iteration, now.cost);
}

void PyObserver::report(const char* stage, int level, int levels, int iteration, int iterations,
                        double cost) {
  if (!progress_.is_valid() || progress_.is_none()) return;
  const nb::gil_scoped_acquire gil;
  if (raised_) return;
  try {
    progress_(stage, level, levels, iteration, iterations, cost);
  } catch (nb::python_error& e) {
    raised_.emplace(std::move(e));
  }
}

bool PyObserver::stop_requested() {
  const nb::gil_scoped_acquire gil;
  if (!raised_ && PyErr_CheckSignals() != 0) raised_.emplace();
  return raised_.has_value();
}

void PyObserver::rethrow() {
  if (raised_) throw std::move(*raised_);
}

}  // namespace freeflow::python
