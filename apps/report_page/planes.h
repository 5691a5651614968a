// The three planes of a grid that a page shows, seen as radiologists see them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <freeflow/core/geometry.h>

namespace freeflow::apps {

/// Columns of a picture go along one axis of the grid to the right, rows along another one down;
/// either may run against the grid's.
struct Plane {
  std::string name;  ///< "axial", "coronal", "sagittal": the nearest, for an oblique grid
  int across = 2;    ///< the grid's axis across it
  int slice = 0;     ///< along that axis
  /// The slice and its neighbours: first axis to the right, second down, third across.
  Geometry slab;
  int middle = 0;  ///< place of the slice in the slab

  /// The slice alone.
  Geometry grid() const;
};

/// Axial, coronal, sagittal, through a voxel (rounded and kept inside). Axial and coronal pictures
/// have the patient's left on the right, sagittal ones the back; what is superior is on top, in
/// axial ones what is anterior.
std::array<Plane, 3> planes_through(const Geometry& fixed, const Eigen::Vector3d& voxel);

/// Of an image on the grid that the plane is of: rows from the top.
std::vector<float> values_on(const Plane& plane, const Geometry& grid,
                             const std::vector<float>& voxels);

/// The values that black and white stand for.
struct Window {
  float low = 0, high = 1;
  /// 0 to 1; NaN stays.
  float operator()(float value) const;
};

/// From 1 % to 99.5 % of the finite values that are not `background`, of at most some 200,000 of
/// them; wider than nothing for a constant image.
Window robust_window(Extent extent, const std::vector<float>& voxels,
                     const float* background = nullptr);

/// The centre of mass of what is bright in that window, in voxels; the grid's middle where nothing
/// is.
Eigen::Vector3d middle_of_object(Extent extent, const std::vector<float>& voxels,
                                 const Window& window);

}  // namespace freeflow::apps
