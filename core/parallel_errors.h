// Carries exceptions out of OpenMP regions, which none may leave: an allocation that fails on a
// thread ends as an exception of the caller's.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

namespace freeflow {

class ParallelErrors {
 public:
  /// Runs f and keeps the first exception of any thread; nothing once there is one.
  template <class F>
  void run(F&& f) noexcept {
    if (failed()) return;
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = std::current_exception();
      failed_.store(true, std::memory_order_relaxed);
    }
  }
  /// Whether the work is lost, so that the rest of a loop may be skipped.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  /// After the region: throws what was kept.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace freeflow
