// Private to io: memory for the values of a large file.
#pragma once

#include <cstddef>
#include <vector>

namespace freeflow {

/// So many voxels are gone through by several threads: fewer are done before those have started.
inline constexpr std::size_t worth_sharing = std::size_t(1) << 24;

/// Asks the system for the pages of memory that is about to be written, by several threads (not
/// OpenMP's, which end the program where there are no more): one that touches them one by one
/// waits longer for them than for the bytes. A hint: where the system cannot, nothing happens.
void make_present(void* memory, std::size_t bytes);

/// Empty, with room for so many values. Not of that size, which would be filled with zeros first.
template <class T>
std::vector<T> room_for(std::size_t count) {
  std::vector<T> values;
  values.reserve(count);
  make_present(values.data(), count * sizeof(T));
  return values;
}

/// So many zeros, for one that cannot do without.
template <class T>
std::vector<T> zeros(std::size_t count) {
  std::vector<T> values = room_for<T>(count);
  values.resize(count);
  return values;
}

}  // namespace freeflow
