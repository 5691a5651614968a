// Views: what a kernel sees. Plain pointers and sizes, trivially copyable, owning nothing.
#pragma once

#include <cstddef>
#include <type_traits>

#include <freeflow/core/host_device.h>

namespace freeflow {

/// Number of voxels along x (fastest in memory), y and z. A 2-D image has z = 1.
struct Extent {
  int x = 0, y = 0, z = 0;

  FREEFLOW_HD std::size_t count() const { return std::size_t(x) * std::size_t(y) * std::size_t(z); }
  /// Where voxel (i, j, k) lies in a dense volume. Rows are numbered in 32 bits, which spares a GPU
  /// most of its index arithmetic, as does i without a sign; a CPU's compiler vectorises a loop
  /// over i only where i keeps its sign, since what is unsigned may wrap around.
  FREEFLOW_HD std::size_t offset(int i, int j, int k) const {
    const std::size_t row = std::size_t(unsigned(k) * unsigned(y) + unsigned(j)) * unsigned(x);
#ifdef __CUDA_ARCH__
    return row + unsigned(i);
#else
    return row + std::size_t(i);
#endif
  }
  FREEFLOW_HD int operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  friend FREEFLOW_HD bool operator==(Extent a, Extent b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
};

/// A dense volume, x fastest.
template <class T>
struct VolumeView {
  T* data = nullptr;
  Extent extent;

  FREEFLOW_HD std::size_t offset(int x, int y, int z) const { return extent.offset(x, y, z); }
  FREEFLOW_HD T& operator()(int x, int y, int z) const { return data[offset(x, y, z)]; }
  FREEFLOW_HD operator VolumeView<const T>() const requires(!std::is_const_v<T>) {
    return {data, extent};
  }
};

/// A vector field as three planes (all x components, then all y, then all z) that follow each other
/// in memory.
template <class T>
struct FieldView {
  T* data = nullptr;
  Extent extent;

  FREEFLOW_HD VolumeView<T> plane(int component) const {
    return {data + component * extent.count(), extent};
  }
  FREEFLOW_HD operator FieldView<const T>() const requires(!std::is_const_v<T>) {
    return {data, extent};
  }
};

struct Vec3f {
  float x = 0, y = 0, z = 0;
};

/// A 3x4 matrix that maps points: y = m * (x, 1). Rows first. Host code builds it in double with
/// Eigen (core/geometry.h).
struct PointMap {
  float m[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
  friend bool operator==(const PointMap&, const PointMap&) = default;
};

}  // namespace freeflow
