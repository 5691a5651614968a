// How large a volume may be.
#pragma once

#include <cstdint>

namespace freeflow {

/// Of which 31 bits number the rows of blocks of seven (regularize/unfold_body.h); where a voxel
/// lies takes 64 (Extent::offset).
inline constexpr std::int64_t most_voxels = 12'000'000'000;
/// Where there are more than 2^31 voxels: of a slice along any axis, so that 31 bits number the
/// rows of a field's three planes.
inline constexpr std::int64_t most_in_slice = 1 << 29;

}  // namespace freeflow
