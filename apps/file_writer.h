// Writes files on threads of its own, beside the work that makes what they hold.
#pragma once

#include <deque>
#include <functional>
#include <future>

namespace freeflow::apps {

class FileWriter {
 public:
  /// Begins to run `write` on another thread. Where two run already, waits for the first of them,
  /// so that no more than three files' contents are in memory. Throws what that one threw, and
  /// Cancelled after Ctrl-C.
  void add(std::function<void()> write);
  /// Waits for all. Throws what the first that failed threw. The destructor waits too.
  void finish();

 private:
  void wait_for_first();

  std::deque<std::future<void>> running_;
};

}  // namespace freeflow::apps
