// Where an image has anything: a skull-stripped brain in a large grid, a masked organ. What lies
// around it, one value up to the border, says nothing and costs as much.
#pragma once

#include <array>

#include <freeflow/core/volume.h>

namespace freeflow {

/// The voxels from `begin` to before `end` along each axis.
struct VoxelBox {
  std::array<int, 3> begin, end;

  bool empty() const { return begin[0] >= end[0]; }
  Extent extent() const { return {end[0] - begin[0], end[1] - begin[1], end[2] - begin[2]}; }
  /// Both and what lies between.
  void extend(const VoxelBox& other);
  /// With so many voxels more on every side, as far as the grid goes.
  VoxelBox with_margin(int voxels, const Extent& grid) const;
  /// With the fewest voxels more that make its sides multiples of so many, half of them at either
  /// end, as far as the grid goes.
  VoxelBox with_sides_of(int voxels, const Extent& grid) const;

 private:
  VoxelBox widened(const std::array<int, 3>& before, const std::array<int, 3>& after,
                   const Extent& grid) const;
};

/// The smallest box about all voxels that are neither NaN nor of the first voxel's value; empty
/// where there are none. Waits.
VoxelBox content_box(Context& ctx, const Volume<float>& image);

/// The voxels of the box, each in its place in the world. An empty volume stays empty.
Volume<float> crop(Context& ctx, const Volume<float>& image, const VoxelBox& box);

}  // namespace freeflow
