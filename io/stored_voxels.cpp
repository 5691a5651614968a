#include <freeflow/io/stored_voxels.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>

#include <freeflow/io/byte_order.h>
#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace {

template <class T>
T stored_value(float voxel) {
  if constexpr (std::is_floating_point_v<T>) {
    return T(voxel);
  } else {
    using Limits = std::numeric_limits<T>;
    if (std::isnan(voxel)) return 0;
    // The largest 32- and 64-bit integers round up in these types, so that the comparison must
    // include equality.
    const double rounded = std::nearbyint(double(voxel));
    if (rounded <= double(Limits::min())) return Limits::min();
    if (rounded >= double(Limits::max())) return Limits::max();
    return T(rounded);
  }
}

template <class T>
std::uint64_t to_label(const std::string& path, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr double most = 9007199254740992;  // beyond, not every integer is a double
    if (!(std::abs(double(value)) <= most) || std::nearbyint(value) != value) {
      char text[32];
      std::snprintf(text, sizeof text, "%.6g", double(value));
      fail_reading(path, std::string("a voxel of it is no integer (") + text +
                             "), so it is no label image; give one whose voxels are integers");
    }
  }
  return std::uint64_t(std::int64_t(value));  // extends the sign; no change of unsigned ones
}

/// Label: std::int64_t, or std::uint64_t of voxels of that type.
template <class T, class Label>
T from_label(const std::string& path, Label label) {
  bool fits = false;
  if constexpr (std::is_floating_point_v<T>)
    fits = double(label) < 9e18 && Label(T(label)) == label;
  else
    fits = std::in_range<T>(label);
  if (!fits)
    fail_writing(path, "label " + std::to_string(label) +
                           " does not fit into the type of its voxels; name a larger one");
  return T(label);
}

}  // namespace

std::vector<float> to_floats(StoredType type, const unsigned char* stored, std::size_t count) {
  std::vector<float> values(count);
  with_stored_type(type, [&](auto one) {
    using T = decltype(one);
    if constexpr (std::is_same_v<T, float>)
      std::memcpy(values.data(), stored, count * sizeof(float));
    else
      for (std::size_t i = 0; i < count; ++i)
        values[i] = float(load<T>(stored + i * sizeof(T), false));
  });
  return values;
}

std::vector<unsigned char> from_floats(StoredType type, const float* values, std::size_t count) {
  std::vector<unsigned char> stored(count * bytes_of(type));
  with_stored_type(type, [&](auto one) {
    using T = decltype(one);
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < count; ++i) {
      const T value = stored_value<T>(values[i]);
      std::memcpy(stored.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return stored;
}

std::vector<std::uint64_t> to_labels(const std::string& path, StoredType type,
                                     const unsigned char* stored, std::size_t count) {
  std::vector<std::uint64_t> labels(count);
  with_stored_type(type, [&](auto one) {
    using T = decltype(one);
    for (std::size_t i = 0; i < count; ++i)
      labels[i] = to_label(path, load<T>(stored + i * sizeof(T), false));
  });
  return labels;
}

std::vector<unsigned char> from_labels(const std::string& path, StoredType type,
                                       const std::vector<std::uint64_t>& labels, StoredType from) {
  std::vector<unsigned char> stored(labels.size() * bytes_of(type));
  with_stored_type(type, [&](auto one) {
    using T = decltype(one);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const T value = from == StoredType::uint64 ? from_label<T>(path, labels[i])
                                                 : from_label<T>(path, std::int64_t(labels[i]));
      std::memcpy(stored.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return stored;
}

}  // namespace freeflow
