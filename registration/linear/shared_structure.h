// Private: how much of the fixed image shows the same structure in the moving one. It tells poses
// that lie far apart where a joint histogram of all voxels does not: a shading makes structure for
// the histogram, but none within a small window.
#pragma once

#include <freeflow/registration/linear/linear_cost.h>
#include <freeflow/registration/linear/linear_levels.h>
#include <freeflow/similarity/channel_measure.h>

namespace freeflow {

class SharedStructure {
 public:
  /// On one level, which must outlive this. ranges, weights: of the channels. Allocates.
  SharedStructure(Context& ctx, const LinearLevel& level, const std::vector<ChannelRanges>& ranges,
                  const std::vector<double>& weights);

  /// The squared local correlation (similarity/lncc.h) summed over the overlap, in parts of the
  /// fixed voxels: 0 to 1. Waits.
  double share(const Eigen::Affine3d& world);

  /// The local correlation alone, negated, with its derivative: what a descent can follow.
  LinearCost& cost() { return *cost_; }

 private:
  Context& ctx_;
  const LinearLevel& level_;
  ChannelMeasure correlation_;
  std::optional<LinearCost> cost_;
};

}  // namespace freeflow
