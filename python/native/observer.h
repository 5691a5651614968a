// Progress, Ctrl-C and a callback's exceptions, while the work runs without the GIL.
#pragma once

#include <optional>
#include <type_traits>

#include <nanobind/nanobind.h>

#include <freeflow/registration/observer.h>

namespace freeflow::python {

class PyObserver : public Observer {
 public:
  /// progress: None, or called with (stage, level, levels, iteration, iterations, cost) whenever a
  /// stage begins and after every iteration; what it raises ends the work.
  explicit PyObserver(nanobind::object progress) : progress_(std::move(progress)) {}

  void on_stage(Stage stage) override;
  void on_iteration(const LevelRecord& level) override;
  void on_level_done(const LevelRecord& level) override;
  bool stop_requested() override;
  /// Calls the callback.
  void report(const char* stage, int level, int levels, int iteration, int iterations, double cost);
  /// Throws what stopped the work, if it was Ctrl-C or the callback. Needs the GIL.
  void rethrow();

 private:
  nanobind::object progress_;
  const char* stage_ = "linear";
  std::optional<nanobind::python_error> raised_;
};

/// Runs `work(observer)`; in place of Cancelled, or of a result after whose last iteration the
/// callback raised, comes what stopped it.
template <class Work>
auto observed(nanobind::object progress, const Work& work) {
  PyObserver observer(std::move(progress));
  try {
    if constexpr (std::is_void_v<decltype(work(observer))>) {
      work(observer);
      observer.rethrow();
    } else {
      auto result = work(observer);
      observer.rethrow();
      return result;
    }
  } catch (const Cancelled&) {
    observer.rethrow();
    throw;
  }
}

}  // namespace freeflow::python
