#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace freeflow {

/// The value of type T that begins at `bytes`, which need not be aligned; its bytes are reversed
/// where the file is `swapped`, written on a machine of the other byte order.
template <class T>
T load(const unsigned char* bytes, bool swapped) {
  unsigned char copy[sizeof(T)];
  std::memcpy(copy, bytes, sizeof copy);
  if (swapped) std::reverse(std::begin(copy), std::end(copy));
  T value;
  std::memcpy(&value, copy, sizeof value);
  return value;
}

/// The bytes of each of `count` values, reversed where they are.
inline void reverse_each(unsigned char* values, std::size_t count, std::size_t value_bytes) {
  if (value_bytes == 1) return;
  for (unsigned char* end = values + count * value_bytes; values != end; values += value_bytes)
    std::reverse(values, values + value_bytes);
}

}  // namespace freeflow
