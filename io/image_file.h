// Images in files: NIfTI (.nii, .nii.gz, .hdr/.img), MetaImage (.mha, .mhd), NRRD (.nrrd, .nhdr)
// and MGH (.mgz, .mgh). World axes are LPS millimetres, whatever the format stores. No ITK type
// appears in this header.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <freeflow/core/error.h>
#include <freeflow/core/volume.h>
#include <freeflow/io/compression.h>
#include <freeflow/io/stored_type.h>

namespace freeflow {

/// A scalar volume in host memory.
struct HostImage {
  Geometry geometry;
  /// x fastest; the file's scaling is applied. NaN where the file has NaN, infinity or a number too
  /// large for float.
  std::vector<float> voxels;
  /// The voxel type in the file.
  StoredType stored_type = StoredType::float32;
  std::size_t nonfinite_voxels = 0;
  /// One sentence each, for the user: voxels that count as outside, an orientation that was
  /// repaired or that others read differently.
  std::vector<std::string> warnings;
};

/// A file is an image as it should be, and has no finite voxel.
struct NothingFinite : IoError {
  using IoError::IoError;
};

/// Reads a volume of any real voxel type. Throws IoError with one sentence when the file is
/// missing, of another kind, truncated or damaged, when it is not one scalar volume (2-D, several
/// volumes, vectors, RGB, complex), when its axes are sheared or (NothingFinite) when no voxel is
/// finite. Header sizes are checked against the file before memory is allocated.
HostImage read_image(const std::string& path);

/// The grid of a volume, series or field, from its header alone. Throws IoError as read_image does.
Geometry read_geometry(const std::string& path);
/// The same, which adds what read_image says of where the voxels lie, unless it stands there.
Geometry read_geometry(const std::string& path, std::vector<std::string>& warnings);

Volume<float> to_volume(Context& ctx, const HostImage& image);

/// Writes .nii, .nii.gz, .mha, .nrrd, .mgz or .mgh by the extension, with the voxels (x fastest)
/// stored as `type`. Integer types round to the nearest and clamp to their range; NaN becomes 0.
/// Throws IoError, or InvalidArgument when the number of voxels does not fit the geometry.
void write_image(const std::string& path, const Geometry& geometry, std::span<const float> voxels,
                 StoredType type = StoredType::float32, const Compression& compression = {});

}  // namespace freeflow
