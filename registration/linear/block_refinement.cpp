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

BlockRefinement refine_by_blocks(Context& ctx, std::vector<BlockChannel>& channels,
                                 const Eigen::Affine3d& start,
                                 const BlockRefinementOptions& options, LevelRecord& record,
                                 Observer& observer) {
  // Between people most matches are wrong: of 0.2, 0.3, 0.4 and 0.5 all but the last did well. A
  // full step swings to and fro.
  constexpr double share = 0.3, step = 0.5, noticeable_loss = 0.05;
  // A fit that does not settle wanders about what its few good matches say: the mean of many rounds
  // tells more than any of them.
  constexpr int longer = 4;
  const auto in_model = [&options](const Eigen::Matrix4d& matrix) {
    const LinearParameters to(options.model, options.center, options.radius_mm,
                              Eigen::Affine3d(matrix));
    return to.affine(to.start());
  };
  Eigen::Affine3d world = start;
  Eigen::Matrix4d sum = Eigen::Matrix4d::Zero();  // of a long run's second half
  int rounds = options.rounds;
  double agreed_before = 0, agreed = 0;
  std::vector<PointMatch> matches;  // kept between rounds, as fresh memory takes longer than they
  for (int round = 0; round < rounds; ++round) {
    if (observer.stop_requested()) throw Cancelled{};
    matches.clear();
    for (BlockChannel& channel : channels)
      channel.blocks.match(ctx, world, channel.weight, matches);
    agreed = agreement(matches, options.agreement_mm);
    if (round == 0) agreed_before = agreed;
    if (agreed_before >= 0.5) return {start};
    const Eigen::Affine3d fitted = fit_trimmed(matches, options.model, options.center,
                                               options.radius_mm, world, share, ctx.threads());
    const Eigen::Affine3d next = in_model(step * fitted.matrix() + (1 - step) * world.matrix());
    const double moved = std::max((next * options.center - world * options.center).norm(),
                                  options.radius_mm * (next.linear() - world.linear()).norm());
    world = next;
    ++record.evaluations;
    if (moved < options.smallest_mm) break;
    if (round + 1 == options.rounds && moved > options.agreement_mm) rounds *= longer;
    if (rounds == options.rounds || round < rounds / 2) continue;
    sum += world.matrix();
    if (round + 1 == rounds) world = in_model(sum / (rounds - rounds / 2));
  }
  if (agreed < (1 - noticeable_loss) * agreed_before) return {start};
  return {world, rounds == options.rounds};
}

}  // namespace freeflow
