// Private: the window over the fixed axis. The fixed intensity stands at its bin's centre, where
// the cubic window is (1, 4, 1) / 6: a filter over the rows of the finished histogram instead of
// twelve more updates per voxel.
#pragma once

#include <cstdint>

#include <freeflow/core/host_device.h>

namespace freeflow {

struct FixedWindowBody {
  const std::uint64_t* counted;
  std::uint64_t* filtered;
  int fixed_bins, moving_bins;

  FREEFLOW_HD std::uint64_t at(int m, int f) const {
    return counted[std::size_t(f) * moving_bins + m];
  }
  /// Mass that would leave the axis stays in its outermost bin.
  FREEFLOW_HD void operator()(int m, int f, int) const {
    const std::uint64_t below = at(m, f > 0 ? f - 1 : 0),
                        above = at(m, f + 1 < fixed_bins ? f + 1 : f);
    filtered[std::size_t(f) * moving_bins + m] = below + 4 * at(m, f) + above;
  }
};

}  // namespace freeflow
