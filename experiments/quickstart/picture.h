// The picture of a registration: fixed, moving, warped, checkerboard and deformation grid, in three
// planes.
#pragma once

#include <string>

#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>

namespace freeflow::quickstart {

/// All four on one grid. Writes a PNG of five columns (fixed, moving, warped, checkerboard of fixed
/// and warped, grid over fixed) and three rows (axial, coronal, sagittal plane through the middle).
void write_picture(const std::string& path, const HostImage& fixed, const HostImage& moving,
                   const HostImage& warped, const HostField& u);

}  // namespace freeflow::quickstart
