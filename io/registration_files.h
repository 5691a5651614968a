// The short way between files and the device: what the registration programs do with two images
// and a transform, in one call each.
#pragma once

#include <string>

#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

/// Reads a scalar volume to the device of the context. Throws IoError (image_file.h), DeviceError.
Volume<float> read_volume(Context& ctx, const std::string& path);

/// Writes x -> affine(x + u(x)) (fixed point to moving point, mm, LPS) as ANTs names its files:
/// PREFIX0GenericAffine.mat and PREFIX1Warp.nii.gz. Throws IoError. Waits.
void write_transform(Context& ctx, const std::string& prefix, const Eigen::Affine3d& affine,
                     const DisplacementField& displacement);

}  // namespace freeflow
