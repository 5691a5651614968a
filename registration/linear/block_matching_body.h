// Private: one block of block_matching.h. Both backends add in this order: along x, rows along y,
// planes along z.
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/core/portable_math.h>
#include <freeflow/core/views.h>

namespace freeflow {

/// Where a block of the fixed image was found.
struct BlockMatch {
  float x, y, z;      ///< offset in voxels, to a fraction
  float correlation;  ///< squared, 0 to 1; 0: nowhere
};

namespace block {
inline constexpr int width = 4, voxels = width * width * width;
inline constexpr int stride = 3;  // from block to block: they overlap
inline constexpr int reach = 3, span = 2 * reach + 1, offsets = span * span * span;
inline constexpr int region = width + 2 * reach;  // what the moved blocks cover

/// Voxel (i, j, k) of the region around the block at (x, y, z), less `level`; NaN outside the
/// image.
FREEFLOW_HD float region_voxel(VolumeView<const float> image, int x, int y, int z, float level) {
  const Extent n = image.extent;
  const bool inside = (x >= 0) & (y >= 0) & (z >= 0) & (x < n.x) & (y < n.y) & (z < n.z);
  return inside ? image(x, y, z) - level : NAN;
}

/// Of a moved block's voxels: their sum and that of their squares.
struct Sums {
  float sum, square;
};

/// Of two quotients, as the products' fourth powers of the intensities may be no floats.
FREEFLOW_HD float squared_correlation(float fixed_variation, float covariation, Sums m,
                                      float least_variation) {
  const float variation = m.square - m.sum * m.sum * (1.0f / voxels);
  return variation > least_variation ? (covariation / fixed_variation) * (covariation / variation)
                                     : -1.0f;
}

/// Vertex of the parabola through three scores whose middle is the largest; 0 where one of them is
/// none.
FREEFLOW_HD float vertex(float before, float middle, float after) {
  const float bend = before - 2.0f * middle + after;
  const bool turns = (before >= 0.0f) & (after >= 0.0f) & (bend < 0.0f);
  return turns ? 0.5f * (before - after) / bend : 0.0f;
}

/// The match at the best of all offsets' scores (x fastest).
FREEFLOW_HD BlockMatch match_at(const float* score, int best) {
  const int i = best % span, j = best / span % span, k = best / (span * span);
  const float s = score[best];
  if (!(s > 0.0f)) return {0, 0, 0, 0};
  BlockMatch match{float(i - reach), float(j - reach), float(k - reach), s};
  if ((i > 0) & (i < span - 1)) match.x += vertex(score[best - 1], s, score[best + 1]);
  if ((j > 0) & (j < span - 1)) match.y += vertex(score[best - span], s, score[best + span]);
  if ((k > 0) & (k < span - 1))
    match.z += vertex(score[best - span * span], s, score[best + span * span]);
  return match;
}
}  // namespace block

/// Mean square distance of a block's voxels from their mean; 0 where one has no value. One thread
/// per block.
struct BlockVarianceBody {
  VolumeView<const float> image;
  VolumeView<float> out;
  FREEFLOW_HD void operator()(int bx, int by, int bz) const {
    const float level = image(bx * block::stride, by * block::stride, bz * block::stride);
    float sum = 0, square = 0;
    for (int k = 0; k < block::width; ++k)
      for (int j = 0; j < block::width; ++j)
        for (int i = 0; i < block::width; ++i) {
          const float v =
              image(bx * block::stride + i, by * block::stride + j, bz * block::stride + k) - level;
          sum += v;
          square = fma_(v, v, square);
        }
    const float variance = (square - sum * sum * (1.0f / block::voxels)) * (1.0f / block::voxels);
    out(bx, by, bz) = variance > 0.0f ? variance : 0.0f;
  }
};

struct BlockMatchInput {
  VolumeView<const float> fixed, warped;
  const int* corners;  // x, y, z of each block's first voxel
  int blocks;
  float least_variation;  // of a moved block, summed over its voxels; less is flat
};

/// Finds every block.
void match_blocks(backend::Cpu, const BlockMatchInput& in, BlockMatch* matches);
void match_blocks(backend::Cuda, const BlockMatchInput& in, BlockMatch* matches);

}  // namespace freeflow
