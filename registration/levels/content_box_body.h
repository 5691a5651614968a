// Private: the mathematics of content_box.h.
#pragma once

#include <freeflow/core/host_device.h>
#include <freeflow/core/views.h>

namespace freeflow {

/// Of every row the first voxel of content and the one after the last; [n, 0) where there is none.
struct RowContentBody {
  VolumeView<const float> image;
  int* begin;  // per row; then `end` of all rows
  FREEFLOW_HD bool is_content(int x, int y, int z) const {
    const float v = image(x, y, z);
    return v == v && v != image.data[0];
  }
  FREEFLOW_HD void operator()(int, int y, int z) const {
    const Extent n = image.extent;
    int first = 0, after = n.x;
    while (first < n.x && !is_content(first, y, z)) ++first;
    while (after > first && !is_content(after - 1, y, z)) --after;
    const std::size_t row = std::size_t(z) * n.y + y;
    begin[row] = first;
    begin[std::size_t(n.y) * n.z + row] = first < n.x ? after : 0;
  }
};

struct CropToBoxBody {
  VolumeView<const float> image;
  VolumeView<float> out;
  int at[3];  // of out's first voxel
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    out(x, y, z) = image(x + at[0], y + at[1], z + at[2]);
  }
};

}  // namespace freeflow
