// Images that end in a plane before their grid does: a partial field of view on a larger grid, one
// half of a brain. Beyond the plane they have one value, which looks like an edge of the object.
#pragma once

#include <optional>
#include <string>

#include <freeflow/io/image_file.h>
#include <freeflow/registration/levels/content_box.h>

namespace freeflow::apps {

/// What was measured of an image's grid.
struct MeasuredPart {
  VoxelBox box;
  bool fills_box;  ///< a field of view on a larger grid, not an object that ends in a plane
};

/// The voxels of an image that ends in one or two planes across its axes: those where more than
/// half of the largest slice's content, all that differs from the value that fills a side of the
/// grid, ends from one slice to the next, three voxels or more before the grid. Whole objects end
/// in less (heads, brains and lungs in a third at most). And those of an image whose content fills
/// a box of many values, which is a field of view on a larger grid: no object fills 85 % of its
/// box. Nothing for others. NaN is content unless it lies around what was cut out (is_cut_out()).
/// Of a padded image (find_padding()) what the padding surrounds is looked at.
std::optional<MeasuredPart> measured_part(const HostImage& image, bool cut_out = false,
                                          std::optional<float> padding = std::nullopt);

/// Such as "0 to 60 of 128 along x", of the grid that the box is a part of.
std::string words_of(const VoxelBox& box, const Extent& grid);

}  // namespace freeflow::apps
