// How many CPU threads a program may start.
#pragma once

#include <omp.h>

#include <future>
#include <memory>
#include <utility>

namespace freeflow::apps {

inline constexpr int most_threads = 1024;

/// Runs `work` on another thread, or, where the system starts no more, when its result is asked
/// for; its OpenMP regions have as many threads as the caller's.
template <class Work>
auto run_beside(Work work) {
  // A copy that may be used twice: std::async moves what it is given before it finds no thread.
  const auto call = [shared = std::make_shared<Work>(std::move(work)),
                     most = omp_get_max_threads()] {
    omp_set_num_threads(most);  // a new thread has the environment's number
    return (*shared)();
  };
  return std::async(std::launch::async | std::launch::deferred, call);
}

inline constexpr const char* no_more_threads =
    "the system starts no more threads; take fewer by --threads, or raise the limits of processes "
    "and memory (ulimit -u, ulimit -v)";

/// Checks --threads (0: all), and that so many do start: OpenMP ends the program where they do not,
/// whatever it was doing. Throws InvalidArgument for the number, std::system_error for the system.
void require_threads(int asked);

}  // namespace freeflow::apps
