#include <freeflow/registration/linear/linear.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include <freeflow/core/small_work.h>
#include <freeflow/registration/levels/content_box.h>
#include <freeflow/registration/levels/seconds_since.h>
#include <freeflow/registration/levels/with_prepared.h>
#include <freeflow/registration/linear/linear_run.h>
#include <freeflow/registration/linear/small_part.h>

namespace freeflow {

namespace {

RatioDirection other(RatioDirection direction) {
  return direction == RatioDirection::moving_given_fixed ? RatioDirection::fixed_given_moving
                                                         : RatioDirection::moving_given_fixed;
}

/// From either image to the other: what makes the part of the moving image that counts like the
/// fixed one most. may_keep: `from`, too.
LinearResult run_both_ways(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                           const LinearOptions& options, const Eigen::Affine3d& from, bool may_keep,
                           Observer& observer, LinearRun& run) {
  LinearOptions reversed = options;
  reversed.initial = options.initial.inverse();
  reversed.similarity.ratio_direction = other(options.similarity.ratio_direction);
  LinearRun back(ctx, moving.content(ctx), fixed, reversed, observer);
  const LinearResult there = run.run(from), from_there = back.run(from.inverse());
  const double shared = back.shared(there.affine.inverse()),
               shared_back = back.shared(from_there.affine);
  if (may_keep && back.shared(from.inverse()) > std::max(shared, shared_back))
    return run.kept(there, from);
  return shared_back > shared ? run.inverted(from_there) : there;
}

/// Under a mask that leaves a small part the measure counts few voxels, and may leave the place
/// that the whole images gave for one that shares less structure.
LinearResult run_one_way(const Eigen::Affine3d& from, bool may_keep, LinearRun& run) {
  const LinearResult there = run.run(from);
  return may_keep && run.shared(from) > run.shared(there.affine) ? run.kept(there, from) : there;
}

/// Of the images without the mask, where it leaves a small part; nothing where it does not, or
/// where such images cannot be registered. Another search than the automatic one starts as asked.
std::optional<LinearResult> of_whole_images(Context& ctx, PreparedImage& fixed,
                                            PreparedImage& moving, const LinearOptions& options,
                                            Observer& observer) {
  if (options.search != LinearSearch::automatic || !mask_leaves_small_part(ctx, fixed, moving))
    return std::nullopt;
  PreparedImage whole_fixed = without_mask(ctx, fixed), whole_moving = without_mask(ctx, moving);
  try {
    return LinearRun(ctx, whole_fixed, whole_moving, options, observer).run(options.initial);
  } catch (const RegistrationError&) {
    return std::nullopt;
  }
}

/// A mask's box, where it is an eighth of its image at most: nothing outside counts, and every cost
/// would look at it.
PreparedImage& what_counts(Context& ctx, PreparedImage& image) {
  constexpr std::size_t share = 8;
  if (!image.has_mask()) return image;
  const Volume<float>& seen = image.level(ctx, {});
  if (ctx.rehearses()) return image;
  const Extent box = content_box(ctx, seen).extent();
  return share * box.count() <= seen.extent().count() ? image.content(ctx) : image;
}

}  // namespace

LinearResult register_linear(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                             const LinearOptions& options, Observer* observer) {
  options.validate();
  require_on_device(ctx, fixed, moving);
  Observer silent;
  Observer& watch = observer ? *observer : silent;
  const auto start = Clock::now();
  watch.on_stage(Stage::linear);
  const SmallWork small(
      ctx, std::max(fixed.geometry().extent.count(), moving.geometry().extent.count()));
  const std::optional<LinearResult> whole = of_whole_images(ctx, fixed, moving, options, watch);
  const Eigen::Affine3d from = whole ? whole->affine : options.initial;
  PreparedImage& fixed_part = what_counts(ctx, fixed);
  LinearOptions under_masks = options;
  if (whole) under_masks.search = LinearSearch::gradient;
  LinearRun run(ctx, fixed_part, moving, under_masks, watch);
  LinearResult result =
      run.goes_back() || (ctx.rehearses() && moving.has_mask())
          ? run_both_ways(ctx, fixed_part, moving, under_masks, from, bool(whole), watch, run)
          : run_one_way(from, bool(whole), run);
  if (whole && (result.start_kept || result.affine.matrix() == from.matrix())) {
    result.start_kept = whole->start_kept;
    result.warnings = whole->warnings;
  }
  result.whole_images_first = whole.has_value();
  if (result.overlap_after < options.smallest_overlap * run.largest_overlap()) {
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.1f", 100 * result.overlap_after);
    throw RegistrationError("the images do not overlap enough (" + std::string(percent) +
                            " % of the fixed voxels fall on the moving image); bring their centres "
                            "together by LevelOptions::initial");
  }
  result.seconds = seconds_since(start);
  return result;
}

LinearResult register_linear(Context& ctx, std::span<const Volume<float>> fixed,
                             std::span<const Volume<float>> moving, const LinearOptions& options,
                             const Masks& masks, Observer* observer) {
  options.validate();
  return with_prepared(fixed, moving, masks, [&](PreparedImage& f, PreparedImage& m) {
    return register_linear(ctx, f, m, options, observer);
  });
}

LinearResult register_linear(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving,
                             const LinearOptions& options, const Masks& masks, Observer* observer) {
  options.validate();
  return with_prepared(fixed, moving, masks, [&](PreparedImage& f, PreparedImage& m) {
    return register_linear(ctx, f, m, options, observer);
  });
}

}  // namespace freeflow
