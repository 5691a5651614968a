#include <freeflow/registration/levels/level_loop.h>

#include <cmath>
#include <string>

#include <freeflow/core/small_work.h>
#include <freeflow/registration/levels/inverse_in_order.h>
#include <freeflow/registration/levels/matched_pairs.h>
#include <freeflow/registration/levels/seconds_since.h>
#include <freeflow/similarity/overlap.h>

namespace freeflow {

LevelLoop::LevelLoop(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                     const LevelOptions& options)
    : ctx_(ctx), fixed_(fixed), moving_(moving),
      fixed_factors_(pyramid_factors(fixed.geometry(), options.levels)),
      moving_factors_(moving_pyramid_factors(
          moving.geometry(), fixed.geometry(),
          std::cbrt(std::abs(options.initial.linear().determinant())), options.levels)),
      level_options_(options) {
  options.similarity.weights_of(common_channels(fixed, moving));  // throws
  require_on_device(ctx, fixed, moving);
  if (options.initial_displacement) require_on_device(ctx, *options.initial_displacement);
}

PointMap LevelLoop::map_between(const Geometry& fixed, const Geometry& moving) const {
  return index_map(fixed, level_options_.initial, moving);
}

/// Reads the intensity ranges inside the masks. Returns the overlap at the start.
double LevelLoop::prepare() {
  ranges_ = channel_ranges(ctx_, fixed_, {}, moving_, {});
  const Volume<float>&f = fixed_.whole(ctx_), &m = moving_.level(ctx_, {});
  const DisplacementField* start = level_options_.initial_displacement;
  const DisplacementField u = start ? resample(ctx_, *start, f.geometry()) : DisplacementField();
  return overlap_fraction(ctx_, {f, m, map_between(f.geometry(), m.geometry())},
                          {u.view().data, f.extent()});
}

ChannelMeasure LevelLoop::measure_of(int l, bool swapped) const {
  const int above_finest = int(fixed_factors_.size()) - 1 - l;
  ChannelMeasure measure(level_options_.similarity.of_level(above_finest), ranges_.size());
  for (std::size_t c = 0; c < ranges_.size(); ++c) {
    const auto& [fixed, moving] = ranges_[c];
    measure.set_ranges(c, swapped ? moving : fixed, swapped ? fixed : moving);
  }
  return measure;
}

LevelRecord LevelLoop::run_level(int l, Observer& observer) {
  const auto start = Clock::now();
  const PreparedImage::Steps of_fixed{fixed_factors_[l]}, of_moving{moving_factors_[l]};
  const Volume<float>&f = fixed_.level(ctx_, of_fixed), &m = moving_.level(ctx_, of_moving);
  const SmallWork small(ctx_, f.extent().count());
  enter_level(l, f.geometry());
  const MatchedPairs channels(ctx_,
                              channel_pairs(ctx_, fixed_, of_fixed, moving_, of_moving,
                                            map_between(f.geometry(), m.geometry())),
                              map_between(f.geometry(), moving_.geometry()));
  similarity_.emplace(measure_of(l));
  similarity_->prepare(ctx_, channels.pairs());
  LevelRecord level;
  level.level = l;
  level.levels = int(fixed_factors_.size());
  level.grid = f.extent();
  level.max_iterations = iterations_of_level(l);
  descend(channels.pairs(), level, observer);
  similarity_.reset();
  level.seconds = seconds_since(start);
  observer.on_level_done(level);
  return level;
}

RegistrationResult LevelLoop::run(Observer* observer) {
  Observer silent;
  Observer& watch = observer ? *observer : silent;
  const auto start = Clock::now();
  watch.on_stage(Stage::nonrigid);
  const SmallWork small(ctx_, fixed_.geometry().extent.count());

  RegistrationResult result;
  result.affine = level_options_.initial;
  result.overlap_before = prepare();
  if (result.overlap_before == 0)
    throw RegistrationError(
        "the images do not overlap at the start (0 % of the fixed voxels fall on the moving "
        "image); "
        "bring their centres together by LevelOptions::initial");
  for (int l = level_options_.first_level; l < int(fixed_factors_.size()); ++l)
    result.levels.push_back(run_level(l, watch));
  finish(result, watch.stop_request());
  const Volume<float>&f = fixed_.whole(ctx_), &m = moving_.level(ctx_, {});
  extend_to(f.geometry(), result, watch.stop_request());
  const ImagePair images{f, m, map_between(f.geometry(), m.geometry())};
  result.overlap_after = overlap_fraction(ctx_, images, result.displacement.view());
  result.jacobian = jacobian_statistics(ctx_, result.displacement);
  if (result.jacobian.folded_voxels > 0)
    result.warnings.push_back(std::to_string(result.jacobian.folded_voxels) +
                              " voxels of the deformation fold; " + mend_of_folds());
  if (!gained(result.levels))
    result.warnings.push_back(
        "no level lowered the cost, so the result is no better than the start");
  result.nonrigid_seconds = seconds_since(start);
  if (observer) show(result.displacement, *observer);
  if (level_options_.with_inverse) {
    watch.on_stage(Stage::inverse);
    add_inverse_in_order(ctx_, result, symmetric(), watch.stop_request());
  }
  store(result);
  return result;
}

/// Beyond the fixed image's content the displacement goes on with the values of the content's
/// border, where lines along the border may fold that did not within.
void LevelLoop::extend_to(const Geometry& whole, RegistrationResult& result,
                          const StopRequest& stop) {
  if (result.displacement.geometry().extent == whole.extent) return;
  result.displacement = resample(ctx_, result.displacement, whole);
  const UnfoldResult beyond = unfold(ctx_, result.displacement, {}, stop);
  result.unfolding.voxels_before += beyond.voxels_before - result.unfolding.voxels_after;
  result.unfolding.rounds += beyond.rounds;
  result.unfolding.voxels_after = beyond.voxels_after;
}

void LevelLoop::show(const DisplacementField& u, Observer& observer) {
  if (fixed_.order().as_stored()) return observer.on_displacement(ctx_, u);
  observer.on_displacement(ctx_, as_stored(ctx_, u, fixed_.stored(), fixed_.order()));
}

/// Brings the fields to the grid as it came.
void LevelLoop::store(RegistrationResult& result) {
  if (fixed_.order().as_stored()) return;
  const auto stored = [&](DisplacementField& field) {
    field = as_stored(ctx_, field, fixed_.stored(), fixed_.order());
  };
  stored(result.displacement);
  stored(result.velocity);
  if (result.inverse) stored(result.inverse->field);
}

}  // namespace freeflow
