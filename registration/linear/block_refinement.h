// Private: the last step of linear registration: a transform fitted to matched blocks (Ourselin
// 2001, Modat 2014).
//
// A measure of the whole overlap is driven by what is largest, such as the rim of a stripped brain.
// Blocks say where each structure lies, and most of them may be wrong: the fit starts from those
// that lie nearest and keeps a fixed share.
#pragma once

#include <freeflow/registration/linear/block_matching.h>
#include <freeflow/registration/linear/linear_parameters.h>
#include <freeflow/registration/observer.h>

namespace freeflow {

/// The blocks of a channel and how much their matches count.
struct BlockChannel {
  BlockMatching blocks;
  double weight = 1;
};

struct BlockRefinementOptions {
  LinearModel model = LinearModel::affine;
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  double radius_mm = 80;
  double agreement_mm = 1;  ///< matches nearer than this agree with the transform
  int rounds = 10;          ///< of matching and fitting, at most; four times as many where the last
                            ///< one moves the object's edge by more than agreement_mm
  double smallest_mm = 0.05;  ///< of a head: ends when the object's edge moves less
};

struct BlockRefinement {
  Eigen::Affine3d world;
  bool settled = true;  ///< otherwise it took longer, and may be a mean over rounds that wandered
};

/// Matches and fits in turn, the blocks of all channels together, unless half of the blocks agree
/// with the start: a measure of the whole is more precise then. Half a step each time; of a run
/// that does not settle the mean of its second half. The start is also kept where fewer blocks
/// agree in the end than with it: such blocks (PET, noise) do not know better. Counts the rounds in
/// record.evaluations. Throws Cancelled when the observer asks.
BlockRefinement refine_by_blocks(Context& ctx, std::vector<BlockChannel>& channels,
                                 const Eigen::Affine3d& start,
                                 const BlockRefinementOptions& options, LevelRecord& record,
                                 Observer& observer);

}  // namespace freeflow
