// What every program does around its work: one sentence on stderr and an exit status for every way
// to end.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include <freeflow/core/cancelled.h>

namespace freeflow::apps {

enum ExitStatus : int { done = 0, work_failed = 1, unusable_input = 2 };

/// How a program ends whose work threw.
struct Failure {
  std::string sentence;
  int status;
};
/// Of the exception that is being handled.
Failure current_failure();

/// Work on several pairs that was asked to stop, and what it leaves.
struct Interrupted : Cancelled {
  explicit Interrupted(std::string left_so) : left(std::move(left_so)) {}
  std::string left;
};

/// A sentence of the library as a user of the programs reads it: flags for fields, no hidden
/// folders, nothing that does something to a terminal.
std::string for_users(const std::string& sentence);

/// Runs `work`, which returns an exit status, and turns its exceptions into a sentence on stderr
/// and a status, 128 and its number for a signal that ended it. Installs the handlers of signals.
int run_program(const std::string& name, const std::function<int()>& work);

/// The words that this process was started with, quoted for a shell where need be.
std::string command_line();

/// True once Ctrl-C (SIGINT), SIGTERM or another signal that ends programs has come.
bool interrupt_requested();
/// Throws Cancelled then.
void stop_if_interrupted();

class Stopwatch {
 public:
  /// Since the last lap.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - last_).count();
  }
  /// The same, and begins the next.
  double lap() {
    const double passed = seconds();
    last_ = std::chrono::steady_clock::now();
    return passed;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace freeflow::apps
