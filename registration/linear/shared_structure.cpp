#include <freeflow/registration/linear/shared_structure.h>

#include <freeflow/similarity/overlap.h>

namespace freeflow {

namespace {

SimilarityChoice local_correlation(const std::vector<double>& weights) {
  SimilarityChoice choice;
  choice.kind = SimilarityKind::lncc;
  choice.channel_weights = weights;
  return choice;
}

}  // namespace

SharedStructure::SharedStructure(Context& ctx, const LinearLevel& level,
                                 const std::vector<ChannelRanges>& ranges,
                                 const std::vector<double>& weights)
    : ctx_(ctx), level_(level), correlation_(local_correlation(weights), weights.size()) {
  for (std::size_t c = 0; c < ranges.size(); ++c)
    correlation_.set_ranges(c, ranges[c].fixed, ranges[c].moving);
  correlation_.prepare(ctx, level.channels);
  cost_.emplace(ctx, correlation_.measure(), level.fixed, level.moving);
}

double SharedStructure::share(const Eigen::Affine3d& world) {
  const ImagePair images{level_.fixed, level_.moving,
                         index_map(level_.fixed.geometry(), world, level_.moving.geometry())};
  return -cost_->evaluate(world) * overlap_fraction(ctx_, images, {nullptr, level_.fixed.extent()});
}

}  // namespace freeflow
