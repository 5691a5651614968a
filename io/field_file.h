// Displacement fields in files, as ITK and ANTs write them: NIfTI-1 of five dimensions (x, y, z, 1,
// 3) with intent 1007 (vector), or MetaImage and NRRD of 3-vectors; LPS components in millimetres.
// In memory a field is in voxels along its grid's own axes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <freeflow/deform/displacement_field.h>
#include <freeflow/io/compression.h>

namespace freeflow {

/// A displacement field in host memory, laid out as DisplacementField: all x components, then all
/// y, then all z, in voxels.
struct HostField {
  Geometry geometry;
  std::vector<float> planes;
  /// One sentence each, for the user: an orientation that was repaired or that others read
  /// differently.
  std::vector<std::string> warnings;
};

/// Makes displacements of millimetres (LPS) ones of voxels along the grid's axes. `path` is for the
/// message: throws IoError for a number that is not finite.
void to_voxels(const std::string& path, HostField& field);

/// Throws IoError when the file is unusable as read_image says, is no field of 3-vectors, holds
/// positions as SPM's and NiftyReg's do, or a number that is not finite.
HostField read_displacement(const std::string& path);
DisplacementField read_displacement(Context& ctx, const std::string& path);

/// Throws IoError where the extension is none that write_displacement writes: to be asked before
/// what is written is computed.
void require_field_name(const std::string& path);

/// Writes .nii, .nii.gz, .mha or .nrrd by the extension, as float32. `planes` as in HostField.
/// Throws IoError, or InvalidArgument when the number of displacements does not fit the geometry.
void write_displacement(const std::string& path, const Geometry& geometry,
                        std::span<const float> planes, const Compression& compression = {});
/// Waits for the device and uses its context's threads.
void write_displacement(Context& ctx, const std::string& path, const DisplacementField& field);

}  // namespace freeflow
