#include <freeflow/registration/linear/block_refinement.h>

#include <algorithm>

#include <freeflow/registration/linear/trimmed_fit.h>

namespace freeflow {

namespace {

/// The share of the blocks that lie within agreement_mm of where the transform takes them; 1 where
/// there are none.
double agreement(const std::vector<PointMatch>& matches, double agreement_mm) {
  double near = 0, all = 0;
  for (const PointMatch& m : matches) {
    all += m.weight;
    if ((m.found - m.fixed).norm() <= agreement_mm) near += m.weight;
  }
  return all > 0 ? near / all : 1;
}

}  // namespace

Eigen::Affine3d refine_by_blocks(Context& ctx, std::vector<BlockChannel>& channels,
                                 const Eigen::Affine3d& start,
                                 const BlockRefinementOptions& options, LevelRecord& record,
                                 Observer& observer) {
  // Between people most matches are wrong: of 0.2, 0.3, 0.4 and 0.5 all but the last did well. A
  // full step swings to and fro.
  constexpr double share = 0.3, step = 0.5, noticeable_loss = 0.05;
  Eigen::Affine3d world = start;
  double agreed_before = 0, agreed = 0;
  std::vector<PointMatch> matches;  // kept between rounds, as fresh memory takes longer than they
  for (int round = 0; round < options.rounds; ++round) {
    if (observer.stop_requested()) throw Cancelled{};
    matches.clear();
    for (BlockChannel& channel : channels)
      channel.blocks.match(ctx, world, channel.weight, matches);
    agreed = agreement(matches, options.agreement_mm);
    if (round == 0) agreed_before = agreed;
    if (agreed_before >= 0.5) return start;
    const Eigen::Affine3d fitted = fit_trimmed(matches, options.model, options.center,
                                               options.radius_mm, world, share, ctx.threads());
    Eigen::Affine3d between = world;
    between.matrix() = step * fitted.matrix() + (1 - step) * world.matrix();
    const LinearParameters to(options.model, options.center, options.radius_mm,
                              between);  // back into the model
    const Eigen::Affine3d next = to.affine(to.start());
    const double moved = std::max((next * options.center - world * options.center).norm(),
                                  options.radius_mm * (next.linear() - world.linear()).norm());
    world = next;
    ++record.evaluations;
    if (moved < options.smallest_mm) break;
  }
  if (agreed < (1 - noticeable_loss) * agreed_before) return start;
  return world;
}

}  // namespace freeflow
