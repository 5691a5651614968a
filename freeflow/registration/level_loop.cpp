#include <freeflow/registration/level_loop.h>

#include <chrono>

namespace freeflow {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::size_t mask_bytes(const Volume<float>* mask) { return mask ? 4 * mask->extent().count() : 0; }

}  // namespace

std::size_t image_bytes(const Geometry& fixed, const Geometry& moving, const Masks& masks, const DisplacementField* initial_displacement) {
  return 8 * (fixed.extent.count() + moving.extent.count()) + mask_bytes(masks.fixed) + mask_bytes(masks.moving) +
         (initial_displacement ? 12 * initial_displacement->extent().count() : 0);
}

std::size_t with_small_things(std::size_t bytes) { return bytes + bytes / 50 + (std::size_t(1) << 20); }

LevelLoop::LevelLoop(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const Masks& masks,
                     const SimilarityChoice& similarity, int levels, const Eigen::Affine3d& initial,
                     const DisplacementField* initial_displacement)
    : ctx_(ctx), fixed_(fixed), moving_(moving), initial_(initial), initial_displacement_(initial_displacement), masks_(masks) {
  fixed.geometry().validate("the fixed image");
  moving.geometry().validate("the moving image");
  fixed_factors_ = pyramid_factors(fixed.geometry(), levels);
  moving_factors_ = pyramid_factors(moving.geometry(), levels);
  similarity_ = make_similarity(similarity);
}

PointMap LevelLoop::map_between(const Volume<float>& f, const Volume<float>& m) const {
  return index_map(f.geometry(), initial_, m.geometry());
}

/// Reads the intensity ranges inside the masks. Returns the overlap at the start.
double LevelLoop::prepare() {
  const Factors full{1, 1, 1};
  const Volume<float> f = pyramid_level(ctx_, fixed_, masks_.fixed, full), m = pyramid_level(ctx_, moving_, masks_.moving, full);
  set_ranges(f, m);
  const DisplacementField u = initial_displacement_ ? resample(ctx_, *initial_displacement_, f.geometry()) : DisplacementField();
  return overlap_fraction(ctx_, {f, m, map_between(f, m)}, {u.view().data, f.extent()});
}

LevelRecord LevelLoop::run_level(int l, Observer& observer) {
  const auto start = Clock::now();
  const Volume<float> f = pyramid_level(ctx_, fixed_, masks_.fixed, fixed_factors_[l]);
  const Volume<float> m = pyramid_level(ctx_, moving_, masks_.moving, moving_factors_[l]);
  enter_level(l, f.geometry());
  const ImagePair images{f, m, map_between(f, m)};
  similarity_->prepare(ctx_, images);
  LevelRecord level;
  level.level = l;
  level.levels = int(fixed_factors_.size());
  level.grid = f.extent();
  level.max_iterations = iterations_of_level(l);
  descend(images, level, observer);
  level.seconds = seconds_since(start);
  observer.on_level_done(level);
  return level;
}

RegistrationResult LevelLoop::run(Observer* observer) {
  Observer silent;
  Observer& watch = observer ? *observer : silent;
  const auto start = Clock::now();

  RegistrationResult result;
  result.affine = initial_;
  result.overlap_before = prepare();
  if (result.overlap_before == 0)
    throw RegistrationError(
        "the images do not overlap at the start (0 % of the fixed voxels land on the moving image); "
        "start from --init center or --init moments");
  for (int l = 0; l < int(fixed_factors_.size()); ++l) result.levels.push_back(run_level(l, watch));
  similarity_.reset();
  result.unfolding = finish(result.displacement);
  result.overlap_after = overlap_fraction(ctx_, {fixed_, moving_, map_between(fixed_, moving_)}, result.displacement.view());
  result.jacobian = jacobian_statistics(ctx_, result.displacement);
  if (result.jacobian.folded_voxels > 0)
    result.warnings.push_back(std::to_string(result.jacobian.folded_voxels) + " voxels of the deformation fold; " + mend_of_folds());
  if (!gained(result.levels)) result.warnings.push_back("no level lowered the cost, so the result is no better than the start");
  result.nonrigid_seconds = seconds_since(start);

  const auto inverse_start = Clock::now();
  result.inverse = inverse_of(result);
  result.inverse_seconds = seconds_since(inverse_start);
  return result;
}

}  // namespace freeflow
