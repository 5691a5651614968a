// How large a volume may be.
#pragma once

#include <cstdint>

namespace freeflow {

/// 32 bits count so many voxels, with some room; where one lies takes 64 (Extent::offset).
inline constexpr std::int64_t most_voxels = 4'000'000'000;
/// Where there are more than 2^31 voxels: of a slice along any axis, so that 31 bits number the
/// rows of a field's three planes.
inline constexpr std::int64_t most_in_slice = 1 << 29;

}  // namespace freeflow
