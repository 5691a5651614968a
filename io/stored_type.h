// The type of a voxel in a file. In memory images are float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <freeflow/core/error.h>

namespace freeflow {

enum class StoredType {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64,
  float32,
  float64
};

/// What the types are called.
inline constexpr std::pair<const char*, StoredType> stored_type_words[] = {
    {"uint8", StoredType::uint8},     {"int8", StoredType::int8},
    {"uint16", StoredType::uint16},   {"int16", StoredType::int16},
    {"uint32", StoredType::uint32},   {"int32", StoredType::int32},
    {"uint64", StoredType::uint64},   {"int64", StoredType::int64},
    {"float32", StoredType::float32}, {"float64", StoredType::float64}};

/// Calls f with a value-initialised object of the C++ type that `type` names and returns what f
/// returns.
template <class F>
decltype(auto) with_stored_type(StoredType type, F&& f) {
  switch (type) {
    case StoredType::uint8: return f(std::uint8_t{});
    case StoredType::int8: return f(std::int8_t{});
    case StoredType::uint16: return f(std::uint16_t{});
    case StoredType::int16: return f(std::int16_t{});
    case StoredType::uint32: return f(std::uint32_t{});
    case StoredType::int32: return f(std::int32_t{});
    case StoredType::uint64: return f(std::uint64_t{});
    case StoredType::int64: return f(std::int64_t{});
    case StoredType::float32: return f(float{});
    case StoredType::float64: return f(double{});
  }
  throw InvalidArgument("the stored type is not one of StoredType");
}

inline std::size_t bytes_of(StoredType type) {
  return with_stored_type(type, [](auto value) { return sizeof value; });
}

}  // namespace freeflow
