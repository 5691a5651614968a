// Voxels whose values lie so far beyond all others' that sums of intensities are theirs: hot ones,
// quotients by next to nothing.
#pragma once

#include <span>

namespace freeflow {

/// Sets values that lie three times the range of all but a thousandth at either end beyond that
/// range to its ends. Leaves others, what is not finite, and images flat but for fewer voxels than
/// that alone.
void cut_outliers(std::span<float> voxels);

}  // namespace freeflow
