// Which voxels to look at where a sample of them will do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

#include <freeflow/core/views.h>

namespace freeflow {

/// The stride through a volume's voxels that takes at most about `wanted` of `count` and is
/// in no step with rows or slices: one that is would take a single plane of them.
inline std::size_t spread_stride(Extent extent, std::size_t count, std::size_t wanted) {
  std::size_t stride = std::max<std::size_t>(count / wanted, 1);
  while (std::gcd(stride, std::size_t(extent.x) * std::size_t(extent.y)) != 1) ++stride;
  return stride;
}

}  // namespace freeflow
