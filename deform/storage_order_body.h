// Private: voxels and displacements in another order (storage_order.h).
#pragma once

#include <cstddef>

#include <freeflow/core/views.h>

namespace freeflow {

/// Where the voxel (x, y, z) of one order stands in the other.
struct VoxelPlace {
  std::ptrdiff_t first, along_x, along_y, along_z;
  FREEFLOW_HD std::size_t operator()(int x, int y, int z) const {
    return std::size_t(first + x * along_x + y * along_y + z * along_z);
  }
};

struct OrderVoxelsBody {
  const float* stored;
  VoxelPlace place;
  VolumeView<float> out;
  FREEFLOW_HD void operator()(int x, int y, int z) const { out(x, y, z) = stored[place(x, y, z)]; }
};

/// Over the ordered grid; component c of the field is component component[c] of `out`.
struct StoreFieldBody {
  FieldView<const float> field;
  VoxelPlace place;
  int component[3];
  float sign[3];
  float* out;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = field.extent.count(), from = field.extent.offset(x, y, z),
                      to = place(x, y, z);
    for (int c = 0; c < 3; ++c) out[to + component[c] * n] = sign[c] * field.data[from + c * n];
  }
};

}  // namespace freeflow
