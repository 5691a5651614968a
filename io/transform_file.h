// Transforms in ITK's files: .mat (MATLAB v4, as ANTs writes its 0GenericAffine.mat), .tfm and .txt
// ("#Insight Transform File"), and .h5 (HDF5, as ANTs and 3D Slicer write composites). They map
// fixed points to moving points, in LPS millimetres.
#pragma once

#include <optional>
#include <string>

#include <Eigen/Geometry>

#include <freeflow/io/field_file.h>

namespace freeflow {

struct HostTransform;

/// x -> affine(x + u(x)).
struct FileTransform {
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  std::optional<HostField> displacement;
};

/// Reads what read_affine reads, a displacement field (read_displacement), a cubic B-spline
/// (BSplineTransform), or a composite that first displaces and then maps linearly, as
/// antsRegistration -z 1 writes it. A B-spline is evaluated on the grid `fixed`. Throws IoError,
/// and InvalidArgument where that grid is needed and lacks.
FileTransform read_transform(const std::string& path, const std::optional<Geometry>& fixed = {});

/// The same files but images, and composites in any order; what is linear may not flatten space.
/// Throws IoError, and InvalidArgument where the grid `fixed` is needed and lacks.
HostTransform read_transform_chain(const std::string& path, const std::optional<Geometry>& fixed);

/// Whether a file is read by read_transform: by its extension, and a NIfTI file by its components.
/// Throws IoError when a NIfTI file cannot be read.
bool is_transform_file(const std::string& path);

/// Reads any linear 3-D transform (translation, rigid, similarity, affine, float or double) or a
/// composite of them, of which the last is applied first. Throws IoError when the file is no such
/// file or holds a nonlinear or 2-D transform.
Eigen::Affine3d read_affine(const std::string& path);

/// Writes AffineTransform_double_3_3 about `center` (LPS millimetres; the map does not depend on
/// it). Throws IoError.
void write_affine(const std::string& path, const Eigen::Affine3d& affine,
                  const Eigen::Vector3d& center);

}  // namespace freeflow
