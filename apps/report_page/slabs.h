// What a page shows of a registration, taken at the voxels of three planes of the fixed grid.
#pragma once

#include <array>
#include <vector>

#include <apps/report_page/planes.h>
#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow::apps {

/// moving(affine(x + u(x))) matches fixed(x); the displacement may be null. Refers to what it is
/// given.
struct Registered {
  const Volume<float>&fixed, &moving;
  const Eigen::Affine3d& affine;
  const DisplacementField* displacement = nullptr;
};

/// Rows from the top, as Plane has them. NaN where there is no value.
struct PlaneValues {
  Plane plane;
  std::vector<float> fixed;
  std::vector<float> before;  ///< the moving image where its file says that it lies
  std::vector<float> affine;  ///< after the affine; empty where that is all or nothing
  std::vector<float> warped;
  /// Of the slice, in voxels, along right, down and across; empty without a displacement.
  std::vector<float> displacement;
  std::vector<float> jacobian;        ///< det(I + grad u) by central differences
  std::vector<unsigned char> folded;  ///< 1 where a corner's determinant is not positive
};

/// Through a voxel of the fixed grid. Throws as resample does.
std::array<PlaneValues, 3> values_of_planes(Context& ctx, const Registered& images,
                                            const Eigen::Vector3d& voxel);

}  // namespace freeflow::apps
