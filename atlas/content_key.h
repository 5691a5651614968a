// 128 bits that stand for a piece of data: what a result was made from, and the order of subjects
// that no list decides. Against accidents, not against people who look for two pieces with one key.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace freeflow {

struct ContentKey {
  std::uint64_t high = 0, low = 0;

  auto operator<=>(const ContentKey&) const = default;
  /// 32 hexadecimal digits.
  std::string text() const;
};

/// Of the bytes, in four lanes of multiplications and rotations as XXH64 has them (Collet 2012).
ContentKey content_key(std::span<const std::byte> bytes);

template <class T>
ContentKey content_key(std::span<const T> values) {
  return content_key(std::as_bytes(values));
}

/// Of a word that says what was done and the keys of what it was done with, in this order.
ContentKey derived_key(std::string_view what, std::initializer_list<ContentKey> from);

}  // namespace freeflow
