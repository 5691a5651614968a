// Random velocities that sum to zero over a group: Gaussians at places that all share, each with
// coefficients of its own less their mean. Everything follows from the seed.
#pragma once

#include <cstdint>
#include <vector>

#include <freeflow/deform/displacement_field.h>

namespace freeflow::experiments {

class KnownVelocities {
 public:
  /// marked: the object's voxels on the grid. The largest velocity of the group has amplitude_mm.
  KnownVelocities(const Geometry& grid, const std::vector<float>& marked, int subjects,
                  double amplitude_mm, std::uint64_t seed, int threads);

  /// In voxels of the grid.
  DisplacementField of(Context& ctx, int subject) const;

 private:
  struct Blob {
    Eigen::Vector3d centre;  // voxels
    Eigen::Vector3d sigma;
  };
  Eigen::Vector3d at(int subject, const Eigen::Vector3d& voxel) const;

  Geometry grid_;
  int threads_;
  std::vector<Blob> blobs_;
  std::vector<std::vector<Eigen::Vector3d>> coefficients_;  // [subject][blob], voxels
};

}  // namespace freeflow::experiments
