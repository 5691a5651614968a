// A transform as registrations and files give it: a chain of affines and displacement fields, each
// field on a grid of its own, that maps points of the fixed space to points of the moving space
// (world, mm, LPS). Images are pulled back through it; points of the moving space go through its
// inverse.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <Eigen/Geometry>

#include <freeflow/deform/displacement_field.h>

namespace freeflow {

class Transform {
 public:
  /// x -> after(x + u(x)), u zero beyond its grid (farther than half a voxel outside, as in ITK).
  struct Link {
    std::shared_ptr<const DisplacementField> field;
    Eigen::Affine3d after = Eigen::Affine3d::Identity();
  };

  /// The identity.
  Transform() = default;
  /// What a registration found: x -> affine(x + u(x)). The field may be empty.
  Transform(DisplacementField u, const Eigen::Affine3d& affine);
  explicit Transform(const Eigen::Affine3d& affine) : first_(affine) {}

  /// Appends what is applied after all that is there.
  Transform& then(const Eigen::Affine3d& affine);
  Transform& then(DisplacementField field);
  Transform& then(std::shared_ptr<const DisplacementField> field);
  Transform& then(const Transform& other);

  /// The affine before the first field: all of it where there is none.
  const Eigen::Affine3d& first() const { return first_; }
  const std::vector<Link>& links() const { return links_; }
  bool is_affine() const { return links_.empty(); }

  /// As many fields as one pass over an image takes; longer chains are composed first.
  static constexpr std::size_t most_links = 8;

 private:
  Eigen::Affine3d first_ = Eigen::Affine3d::Identity();
  std::vector<Link> links_;
};

/// The transform without its fields: what holds for points beyond all grids.
Eigen::Affine3d affine_part(const Transform& transform);

/// Where the transform takes points of the fixed space, in double on the host, on the context's
/// threads. Copies the fields to the host.
std::vector<Eigen::Vector3d> map_points(Context& ctx, const Transform& transform,
                                        std::span<const Eigen::Vector3d> points);

struct MappedBack {
  std::vector<Eigen::Vector3d> points;
  double largest_residual_mm = 0;  ///< of transform(point) against what was asked for
  static constexpr double solved_mm = 1e-3;
  std::size_t unsolved_points = 0;  ///< with a residual above solved_mm
};

/// The points of the fixed space that the transform takes to these points of the moving space, by
/// Newton's method per point: one on the grids of all fields where there is one, else one that the
/// fields it is beyond leave where it is. Where the transform folds there may be none: the residual
/// says so.
MappedBack map_points_back(Context& ctx, const Transform& transform,
                           std::span<const Eigen::Vector3d> points);

}  // namespace freeflow
