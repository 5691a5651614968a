// How many CPU threads a program may start.
#pragma once

namespace freeflow::apps {

inline constexpr int most_threads = 1024;
inline constexpr const char* no_more_threads =
    "the system starts no more threads; take fewer by --threads, or raise the limits of processes "
    "and memory (ulimit -u, ulimit -v)";

/// Checks --threads (0: all), and that so many do start: OpenMP ends the program where they do not,
/// whatever it was doing. Throws InvalidArgument for the number, std::system_error for the system.
void require_threads(int asked);

}  // namespace freeflow::apps
