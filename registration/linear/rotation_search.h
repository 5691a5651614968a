// Private: the coarse searches of linear registration: every rotation, on the coarsest level,
// candidates in batches.
#pragma once

#include <freeflow/registration/linear/candidate_search.h>

namespace freeflow {

/// Rotations spread evenly over all of SO(3) (super-Fibonacci spirals, Alexa 2022): 600 of them lie
/// about 25 degrees apart.
std::vector<Eigen::Matrix3d> spread_rotations(int count);

/// What the searches share. The guard learns the overlap that the centres of mass allow.
struct SearchSetting {
  const LinearLevels& levels;
  const std::vector<double>& weights;  ///< of the channels
  OverlapGuard& guard;
  LevelRecord& record;
  Observer& observer;
};

/// The search of LinearSearch::automatic: the start, and about the centres of mass the start's
/// rotation and a grid over all rotations; the best 12 by either rank move on by pattern search in
/// rotation and translation. The most promising `wanted` of each, without a cost.
std::vector<LinearCandidate> search_rotations(Context& ctx, const SearchSetting& setting,
                                              const Eigen::Affine3d& start, int wanted);

/// Stage 1 of FLIRT as Li 2015 (section 2.2) has it: 6x6x6 rotations with a local search of
/// translation (and scale, unless rigid), then 20x20x20 rotations evaluated once, with the rest of
/// the nearest coarse one; the best `wanted`. Nearest-neighbour sampling.
std::vector<LinearCandidate> search_flirt(Context& ctx, const SearchSetting& setting,
                                          const Eigen::Affine3d& start, bool rigid, int wanted);

/// Stage 2: the candidates and their ten neighbours (9 degrees, scales 1.1, 1.2 and one by
/// these) scored in one launch; the best as many.
std::vector<LinearCandidate> perturb_flirt(Context& ctx, const SearchSetting& setting, int level,
                                           const std::vector<LinearCandidate>& candidates,
                                           bool rigid);

}  // namespace freeflow
