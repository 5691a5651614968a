// What the header of an image file declares, for people: also of files that read_image refuses for
// what they hold. No voxel is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <freeflow/core/geometry.h>

namespace freeflow {

/// Where a NIfTI header says that the voxels lie: three ways, of which readers take one.
struct NiftiPlacement {
  int qform_code = 0, sform_code = 0;  ///< 0: not set
  /// Voxel index to LPS millimetres; of no meaning where the code is 0.
  Eigen::Affine3d qform = Eigen::Affine3d::Identity(), sform = Eigen::Affine3d::Identity();
  /// pixdim; the length of the qform's axes.
  Eigen::Vector3d voxel_size = Eigen::Vector3d::Ones();
  /// Which of them gives ImageHeader::geometry, and why: "the sform: ...".
  std::string taken;
  std::string length_unit, time_unit;  ///< empty where not set
};

struct ImageHeader {
  std::string format;              ///< NIfTI-1, NIfTI-2, MetaImage, NRRD, MGH
  std::vector<std::int64_t> size;  ///< three or more axes of space, time and more; 2-D has two
  int components = 1;              ///< numbers of a voxel
  std::string voxels;              ///< scalars, vectors, RGB colours, RGBA colours, complex numbers
  std::string stored_type;         ///< of a number: int16
  double slope = 1, intercept = 0;  ///< value = slope * stored + intercept
  int intent_code = 0;              ///< NIfTI's
  std::string intent_name;

  /// As read_geometry has it; nothing where the file's axes are no use, and then `refusal` says
  /// why.
  std::optional<Geometry> geometry;
  std::string refusal;
  std::optional<NiftiPlacement> nifti;
  /// One sentence each, for the user: where readers of this header disagree.
  std::vector<std::string> warnings;

  /// What read_image takes, if the voxels are all there.
  bool is_scalar_volume() const;
};

/// Whether the extension is that of a format that read_image knows.
bool is_image_name(const std::string& path);

/// Throws IoError when the file is missing, of another kind, or its header is damaged.
ImageHeader read_image_header(const std::string& path);

}  // namespace freeflow
