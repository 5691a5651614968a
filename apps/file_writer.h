// Writes files on threads of its own, beside the work that makes what they hold.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <future>

namespace freeflow::apps {

class FileWriter {
 public:
  /// So many run at the same time, more where they hold little; with one, they run in their order.
  /// Two, as some formats are compressed by one thread, and a file is handed to the system by one.
  explicit FileWriter(std::size_t at_once = 2) : at_once_(at_once) {}

  /// Begins to run `write`, which holds `bytes` of memory, on another thread. Where enough run
  /// already, waits for the first of them, so that what one more file holds is in memory at most.
  /// Throws what that one threw, and Cancelled after Ctrl-C.
  void add(std::function<void()> write, std::size_t bytes = much);
  /// Waits for all. Throws what the first that failed threw. The destructor waits too.
  void finish();

 private:
  static constexpr std::size_t little = std::size_t(4) << 30, much = little + 1;
  struct Running {
    std::future<void> end;
    std::size_t bytes;
  };
  void wait_for_first();
  std::size_t bytes_held() const;

  std::size_t at_once_;
  std::deque<Running> running_;
};

}  // namespace freeflow::apps
