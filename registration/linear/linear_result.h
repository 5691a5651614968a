// What a linear registration returns.
#pragma once

#include <string>
#include <vector>

#include <freeflow/registration/linear/linear_parameters.h>
#include <freeflow/registration/observer.h>

namespace freeflow {

struct LinearResult {
  /// world transform, fixed point to moving point (mm, LPS)
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  /// the fixed image's centre of mass, about which the parts are
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  LinearDecomposition parts;
  double overlap_before = 0,
         overlap_after = 0;                ///< share of the fixed voxels that fall on moving ones
  double cost_before = 0, cost_after = 0;  ///< of the measure on the finest level
  bool start_kept =
      false;  ///< nothing better than the start was found, and the result is the start
  /// the mask leaves a small part of what its image shows, which was looked for without it
  bool whole_images_first = false;
  std::vector<LevelRecord> levels;    ///< of what came after that
  std::vector<std::string> warnings;  ///< sentences for the user
  double seconds = 0;
};

}  // namespace freeflow
