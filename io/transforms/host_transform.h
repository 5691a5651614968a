// A transform as files of any program give it, in host memory: affines and displacement fields, one
// after the other, in world LPS millimetres, from a point of the fixed (reference) image to the
// point of the moving (source) image that lies under it.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <Eigen/Geometry>

#include <freeflow/core/error.h>
#include <freeflow/core/geometry.h>
#include <freeflow/io/field_file.h>

namespace freeflow {

/// steps[0] is applied first to a fixed point. A HostField takes p to p + u(p), its vectors linear
/// between voxels; an affine takes p to affine * p. No steps: the identity.
struct HostTransform {
  std::vector<std::variant<Eigen::Affine3d, HostField>> steps;
  /// One sentence each, for the user: what the file does not say and how it was taken.
  std::vector<std::string> warnings;
};

/// What the vectors of a field mean where its file does not say: displacements, or positions.
enum class VectorMeaning { measured, displacements, positions };

/// What some formats need beside the file.
struct TransformContext {
  /// The grid of the image that the transform's points are of, and that of the image it maps to.
  std::optional<Geometry> fixed, moving;
  /// For FSL's fields: `measured` takes as positions what varies less once the grid's own
  /// coordinates are taken off, and says so in the warnings. Also what is written.
  VectorMeaning vectors = VectorMeaning::measured;
};

/// The numbers of a file mean nothing without the grid of an image that the context lacks.
struct GridUnknown : InvalidArgument {
  using InvalidArgument::InvalidArgument;
};

/// The moving point of a fixed point (LPS millimetres), in double. Outside a field's grid, which
/// ends half a voxel beyond the outermost centres, it displaces nothing, as in ITK; between there
/// and the centres the outermost vectors hold.
Eigen::Vector3d map_point(const HostTransform& transform, const Eigen::Vector3d& lps_mm);
/// The same of one field: p + u(p).
Eigen::Vector3d displace_point(const HostField& field, const Eigen::Vector3d& lps_mm);

}  // namespace freeflow
