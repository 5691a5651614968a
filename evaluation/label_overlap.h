// How far two label volumes on one grid overlap: label by label, in whole voxels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <freeflow/core/volume.h>

namespace freeflow {

struct LabelOverlap {
  std::int32_t label = 0;
  std::size_t first_voxels = 0, second_voxels = 0, common_voxels = 0;

  /// 2 |A and B| / (|A| + |B|) (Dice 1945), 0 to 1; NaN where neither volume has the label.
  double dice() const;
};

/// One entry for each of `labels`, in their order, which must not name one twice. Labels that do
/// not fit 32 bits are numbered first (number_labels, transform/resample.h). On the host, in one
/// pass over both volumes. Throws InvalidArgument when they do not share a grid, or a label is
/// named twice.
std::vector<LabelOverlap> label_overlap(Context& ctx, const Volume<std::int32_t>& first,
                                        const Volume<std::int32_t>& second,
                                        std::span<const std::int32_t> labels);

}  // namespace freeflow
