// Writes files on threads of its own, beside the work that makes what they hold.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <future>

namespace freeflow::apps {

class FileWriter {
 public:
  /// So many run at the same time; with one, they run in their order. Two, as some formats are
  /// compressed by one thread, and a file is handed to the system by one.
  explicit FileWriter(std::size_t at_once = 2) : at_once_(at_once) {}

  /// Begins to run `write` on another thread. Where enough run already, waits for the first of
  /// them, so that what one more file holds is in memory at most. Throws what that one threw, and
  /// Cancelled after Ctrl-C.
  void add(std::function<void()> write);
  /// Waits for all. Throws what the first that failed threw. The destructor waits too.
  void finish();

 private:
  void wait_for_first();

  std::size_t at_once_;
  std::deque<std::future<void>> running_;
};

}  // namespace freeflow::apps
