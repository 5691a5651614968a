#include <freeflow/io/orientation.h>

#include <Eigen/SVD>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/itk_image_io.h>

namespace freeflow {

namespace {

std::string in_mm(double length) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g mm", length);
  return text;
}

Geometry placed(const NiftiHeader& header, const Eigen::Affine3d& to_world) {
  Geometry geometry;
  geometry.extent = header.extent();
  geometry.spacing = to_world.linear().colwise().norm().transpose();
  geometry.origin = to_world.translation();
  geometry.direction = to_world.linear() * geometry.spacing.cwiseInverse().asDiagonal();
  return geometry;
}

double deviation_from_orthonormal(const Eigen::Matrix3d& direction) {
  return (direction.transpose() * direction - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff();
}

/// Beyond rounding and small errors of a header: 1.15 degrees.
bool is_sheared(const Eigen::Matrix3d& direction) {
  return !(deviation_from_orthonormal(direction) < 0.02);
}

/// Of what ITK does not place: the sform counts where it is set, as in FSL, SPM and nibabel, but
/// for one that no grid here can have.
bool goes_by_qform(const NiftiHeader& header) {
  return header.qform_code > 0 &&
         (header.sform_code <= 0 || is_sheared(placed(header, header.sform).direction));
}

Geometry geometry_of(const NiftiHeader& header) {
  if (goes_by_qform(header)) return placed(header, header.qform);
  if (header.sform_code > 0) return placed(header, header.sform);
  return placed(header, Eigen::Affine3d(Eigen::Scaling(header.voxel_size)));
}

}  // namespace

bool placed_by_itk(const NiftiHeader& header) {
  return header.version == 1 && header.mm_per_unit == 1;
}

double largest_shift_mm(const Extent& extent, const Eigen::Affine3d& a, const Eigen::Affine3d& b) {
  double largest = 0;  // at a corner, as both are affine
  for (int corner = 0; corner < 8; ++corner) {
    const Eigen::Vector3d voxel((corner & 1) * (extent.x - 1), (corner >> 1 & 1) * (extent.y - 1),
                                (corner >> 2) * (extent.z - 1));
    largest = std::max(largest, (a * voxel - b * voxel).norm());
  }
  return largest;
}

void warn_of_voxel_size(const std::string& path, const Eigen::Vector3d& said,
                        const Eigen::Affine3d& sform, std::vector<std::string>& warnings) {
  const Eigen::Vector3d axes = sform.linear().colwise().norm().transpose();
  if ((axes - said).cwiseAbs().maxCoeff() < 1e-3 * said.maxCoeff()) return;
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(),
                "the voxel size (pixdim) is %g x %g x %g mm, but the sform's axes are %g x %g x %g "
                "mm long; programs take one or the other",
                said[0], said[1], said[2], axes[0], axes[1], axes[2]);
  warnings.push_back("'" + path + "': " + text.data());
}

Geometry nifti_geometry(const NiftiHeader& header, std::vector<std::string>& warnings) {
  if (!(header.voxel_size.minCoeff() > 0))
    fail_reading(header.path, "its header declares a voxel size (pixdim) that is not positive");
  Geometry geometry;
  std::optional<Geometry> by_itk;
  if (placed_by_itk(header)) by_itk = itk_geometry(header.header_path, FileFormat::nifti);
  if (by_itk) {
    geometry = *by_itk;
  } else if (!placed_by_itk(header)) {
    geometry = geometry_of(header);
  } else if (header.sform_code > 0) {
    geometry = placed(header, header.sform);
  } else {
    fail_reading(header.path, "its qform is no rotation; give it a valid qform or sform");
  }
  geometry.extent = header.extent();
  make_orthonormal(header.path, geometry, warnings);

  if (header.mm_per_unit != 1)
    warnings.push_back("'" + header.path + "': its lengths are in " + header.length_unit() +
                       " and were converted to millimetres; programs that pass over the unit, and "
                       "their transforms, have the numbers as they stand");
  if (header.sform_code <= 0 && header.qform_code <= 0) {
    geometry.space_code = 0;
    warnings.push_back("'" + header.path +
                       "' has neither sform nor qform: its axes are taken as left, posterior, "
                       "superior from origin 0");
  }
  // A twentieth of a voxel: sform and qform of one geometry differ by less through float rounding.
  const double shift_mm =
      largest_shift_mm(geometry.extent, geometry.index_to_world(), header.sform);
  const bool apart =
      header.sform_code > 0 && (by_itk ? !(shift_mm < 0.05 * geometry.spacing.minCoeff())
                                       : !placed_by_itk(header) && goes_by_qform(header));
  if (header.sform_code > 0 && !apart)
    geometry.space_code = header.sform_code;
  else if (header.qform_code > 0)
    geometry.space_code = header.qform_code;
  if (apart)
    warnings.push_back("'" + header.path +
                       "': qform and sform differ and ITK's rule takes the qform; programs that "
                       "take the sform (FSL, SPM, nibabel) place voxels up to " +
                       in_mm(shift_mm) + " elsewhere");
  else if (header.sform_code > 0)
    warn_of_voxel_size(header.path, header.voxel_size, header.sform, warnings);
  return geometry;
}

void make_orthonormal(const std::string& path, Geometry& geometry,
                      std::vector<std::string>& warnings) {
  if (!geometry.spacing.allFinite() || !(geometry.spacing.minCoeff() > 0))
    fail_reading(path, "its header declares a voxel size that is not positive");
  if (!geometry.origin.allFinite())
    fail_reading(path, "its header declares an origin that is not finite");
  // Geometry takes what is orthonormal to 1e-4.
  if (deviation_from_orthonormal(geometry.direction) < 1e-4) return;
  if (is_sheared(geometry.direction))
    fail_reading(path,
                 "its axes are not perpendicular (sheared or singular direction matrix); resample "
                 "it onto a grid without shear");
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(geometry.direction,
                                              Eigen::ComputeFullU | Eigen::ComputeFullV);
  Geometry nearest = geometry;
  nearest.direction = svd.matrixU() * svd.matrixV().transpose();
  const double shift_mm =
      largest_shift_mm(geometry.extent, geometry.index_to_world(), nearest.index_to_world());
  warnings.push_back("'" + path +
                     "': its axes are not quite perpendicular; the nearest perpendicular ones move "
                     "voxels by up to " +
                     in_mm(shift_mm));
  geometry = nearest;
}

}  // namespace freeflow
