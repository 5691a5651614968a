// Private: the coarse search of linear registration: every rotation, on the coarsest level, candidates in batches.
#pragma once

#include <vector>

#include <freeflow/registration/linear_levels.h>
#include <freeflow/registration/observer.h>
#include <freeflow/registration/overlap_guard.h>

namespace freeflow {

struct LinearCandidate {
  Eigen::Affine3d world = Eigen::Affine3d::Identity();
  double cost = 0;
};

/// Rotations spread evenly over all of SO(3), neighbours about 50 / count^(1/3) * 4 degrees apart (super-Fibonacci spirals, Alexa 2022).
std::vector<Eigen::Matrix3d> spread_rotations(int count);

/// Angle between the rotations of two transforms, degrees.
double angle_between(const Eigen::Affine3d& a, const Eigen::Affine3d& b);

/// The most promising transforms, best first, each at least 20 degrees or a quarter of the object from the others. Scores `start`, and
/// about the centres of mass the start's rotation and a grid over all; the best move on by pattern search in rotation and translation.
/// Scored by mutual information of a small histogram, whatever the measure of the refinement. The guard learns the overlap that the
/// centres of mass allow, and none that it refuses is returned.
std::vector<LinearCandidate> search_rotations(Context& ctx, const LinearLevels& levels, const Eigen::Affine3d& start, int wanted,
                                              OverlapGuard& guard, LevelRecord& record, Observer& observer);

}  // namespace freeflow
