#include <freeflow/registration/levels/content_box.h>

#include <algorithm>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/registration/levels/content_box_body.h>

namespace freeflow {

void VoxelBox::extend(const VoxelBox& other) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  for (std::size_t a = 0; a < 3; ++a) {
    begin[a] = std::min(begin[a], other.begin[a]);
    end[a] = std::max(end[a], other.end[a]);
  }
}

VoxelBox VoxelBox::with_margin(int voxels, const Extent& grid) const {
  return widened({voxels, voxels, voxels}, {voxels, voxels, voxels}, grid);
}

VoxelBox VoxelBox::with_sides_of(int voxels, const Extent& grid) const {
  std::array<int, 3> before, after;
  for (int a = 0; a < 3; ++a) {
    const int missing = (voxels - extent()[a] % voxels) % voxels;
    before[std::size_t(a)] = missing / 2;
    after[std::size_t(a)] = missing - missing / 2;
  }
  return widened(before, after, grid);
}

VoxelBox VoxelBox::widened(const std::array<int, 3>& before, const std::array<int, 3>& after,
                           const Extent& grid) const {
  VoxelBox wide;
  for (int a = 0; a < 3; ++a) {
    const auto i = std::size_t(a);
    wide.begin[i] = std::max(begin[i] - before[i], 0);
    wide.end[i] = std::min(end[i] + after[i], grid[a]);
  }
  return wide;
}

VoxelBox content_box(Context& ctx, const Volume<float>& image) {
  require_on_device(ctx, image);
  const Extent n = image.extent();
  const std::size_t rows = std::size_t(n.y) * n.z;
  const Buffer<int> found(ctx, 2 * rows);
  for_each_voxel(ctx, Extent{1, n.y, n.z}, RowContentBody{image.view(), found.data()});
  const std::vector<int> ends = found.to_host(ctx);
  VoxelBox box{};
  for (std::size_t row = 0; row < rows; ++row) {
    const int y = int(row % std::size_t(n.y)), z = int(row / std::size_t(n.y));
    box.extend({{ends[row], y, z}, {ends[rows + row], y + 1, z + 1}});
  }
  return box;
}

Volume<float> crop(Context& ctx, const Volume<float>& image, const VoxelBox& box) {
  if (image.empty()) return {};
  require_on_device(ctx, image);
  Geometry grid = image.geometry();
  const Eigen::Vector3d first(box.begin[0], box.begin[1], box.begin[2]);
  grid.origin = grid.index_to_world() * first;
  grid.extent = box.extent();
  Volume<float> out(ctx, grid);
  for_each_voxel(
      ctx, grid.extent,
      CropToBoxBody{image.view(), out.view(), {box.begin[0], box.begin[1], box.begin[2]}});
  return out;
}

}  // namespace freeflow
