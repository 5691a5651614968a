// How threads of a program wait for each other. libgomp's own spin for milliseconds before they
// sleep, so that beside other work they take the cores from those that would compute.
#include <cstdlib>

namespace {

/// Before libgomp reads its environment, where it is part of the program (CMakeLists.txt). A word
/// of the user's stands.
[[gnu::constructor(101)]] void let_waiting_threads_sleep() {
  if (std::getenv("OMP_WAIT_POLICY")) return;
  // About 0.1 ms: longer than threads wait between two loops of an iteration, shorter than what
  // another process would miss.
  setenv("GOMP_SPINCOUNT", "10000", 0);
}

}  // namespace
