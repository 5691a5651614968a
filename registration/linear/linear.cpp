#include <freeflow/registration/linear/linear.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include <freeflow/core/small_work.h>
#include <freeflow/registration/levels/with_prepared.h>
#include <freeflow/registration/linear/block_refinement.h>
#include <freeflow/registration/linear/linear_cost.h>
#include <freeflow/registration/linear/linear_levels.h>
#include <freeflow/registration/linear/powell.h>
#include <freeflow/registration/linear/rotation_search.h>
#include <freeflow/registration/linear/shared_structure.h>
#include <freeflow/similarity/overlap.h>

namespace freeflow {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Runs one registration: what its levels share.
class LinearRun {
 public:
  LinearRun(Context& ctx, PreparedImage& fixed, PreparedImage& moving, const LinearOptions& options,
            Observer& observer)
      : ctx_(ctx), options_(options), observer_(observer),
        weights_(options.similarity.weights_of(common_channels(fixed, moving))),
        levels_(ctx, fixed, moving, options.levels),
        guard_(ctx, levels_[0].fixed, levels_[0].moving),
        similarity_(options.similarity, fixed.channels()) {
    const LinearLevel& typical = levels_[std::min(1, levels_.count() - 1)];
    ranges_ = channel_ranges(ctx, fixed, typical.fixed_steps, moving, typical.moving_steps);
    for (std::size_t c = 0; c < ranges_.size(); ++c)
      similarity_.set_ranges(c, ranges_[c].fixed, ranges_[c].moving);
  }

  LinearResult run() {
    LinearResult result;
    result.center = levels_.fixed_content().center;
    const LinearParameters as_model(options_.model, result.center,
                                    levels_.fixed_content().radius_mm, options_.initial);
    const Eigen::Affine3d start = as_model.affine(as_model.start());
    result.overlap_before = overlap(start);
    guard_.allow_for(guard_.overlap(start));
    std::vector<LinearCandidate> candidates{{start}};
    for (int l = 0; l < levels_.count(); ++l) {
      const auto level_start = Clock::now();
      LevelRecord record;
      record.level = l;
      record.levels = levels_.count();
      record.grid = levels_[l].fixed.extent();
      record.max_iterations = options_.iterations_of_level(l, levels_.count());
      add_candidates(candidates, l, start, record);
      similarity_.prepare(ctx_, levels_[l].channels);
      LinearCost cost(ctx_, similarity_.measure(), levels_[l].fixed, levels_[l].moving);
      refine(candidates, start, cost, l, record);
      if (l + 1 == levels_.count()) finish(candidates.front(), start, cost, result, record);
      record.evaluations += cost.evaluations();
      record.seconds = seconds_since(level_start);
      observer_.on_level_done(record);
      result.levels.push_back(record);
    }
    result.affine = candidates.front().world;
    result.parts = decompose(result.affine, result.center);
    result.overlap_after = overlap(result.affine);
    return result;
  }

  /// Whether to search from the moving image to the fixed one, too: where a mask leaves a small
  /// part of the moving one, that part can be stretched over what surrounds it in the fixed one,
  /// for nothing there has a say. A model of scales along the fixed image's axes has no inverse.
  bool goes_back() const {
    constexpr double small = 0.5;
    return guard_.moving_is_masked() && guard_.measured_ratio() < small &&
           options_.model != LinearModel::scaled;
  }
  /// Share of the fixed image that what was measured of the moving one could cover: a slab or an
  /// organ covers a head in part.
  double largest_overlap() const { return std::min(1.0, guard_.measured_ratio()); }
  /// How much of the fixed image's structure the moving one shares.
  double shared(const Eigen::Affine3d& world) {
    return structure_on(levels_.count() - 1).share(world);
  }
  /// What was found from the moving image to the fixed one, as this run would return it.
  LinearResult inverted(LinearResult back) {
    back.affine = back.affine.inverse();
    back.center = levels_.fixed_content().center;
    back.parts = decompose(back.affine, back.center);
    back.overlap_before = overlap(options_.initial);
    back.overlap_after = overlap(back.affine);
    return back;
  }

 private:
  double overlap(const Eigen::Affine3d& world) {
    const LinearLevel& finest = levels_[levels_.count() - 1];
    return overlap_fraction(ctx_,
                            {finest.fixed, finest.moving,
                             index_map(finest.fixed.geometry(), world, finest.moving.geometry())},
                            {nullptr, finest.fixed.extent()});
  }

  double smallest_overlap(const LinearCandidate& c) const {
    return c.least_overlap > 0 ? c.least_overlap : guard_.smallest();
  }

  bool rigid() const { return options_.model == LinearModel::rigid; }
  /// What the searches of all rotations find on the coarsest level, and FLIRT's perturbations on
  /// the second.
  void add_candidates(std::vector<LinearCandidate>& candidates, int l, const Eigen::Affine3d& start,
                      LevelRecord& record) {
    const SearchSetting setting{levels_, weights_, guard_, record, observer_};
    if (l == 0 && options_.search == LinearSearch::automatic) {
      constexpr int wanted = 3;
      for (const LinearCandidate& c : search_rotations(ctx_, setting, start, wanted))
        candidates.push_back(c);
      // Parts of two views may overlap less than they could.
      if (!guard_.accepts(start)) candidates[0].least_overlap = guard_.smallest_from(start);
    }
    if (options_.search == LinearSearch::flirt) {
      constexpr int wanted = 3;
      if (l == 0) candidates = search_flirt(ctx_, setting, start, rigid(), wanted);
      if (l == 1) candidates = perturb_flirt(ctx_, setting, l, candidates, rigid());
    }
  }

  /// Descends from each candidate. The coarsest two levels, with few parameters, decide which go
  /// on; after the finest one is chosen.
  void refine(std::vector<LinearCandidate>& candidates, const Eigen::Affine3d& start,
              LinearCost& cost, int l, LevelRecord& record) {
    const bool last = l + 1 == levels_.count();
    if (l == 0 || (l == 1 && candidates.size() > 1)) {
      for (LinearCandidate& c : candidates) {
        Eigen::MatrixXd curvature;
        descend_together(c, rigid() ? LinearModel::rigid : LinearModel::similarity, cost, l,
                         std::min(record.max_iterations, 20), curvature, record, false);
      }
      candidates = those_that_go_on(candidates, start, l, l == 0 && !last ? 3 : 1, record);
    }
    if (l == 0 && !last) return;
    const bool flirt = options_.search == LinearSearch::flirt;
    if (flirt && l == 1 && !last) return;
    curvatures_.resize(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (flirt && l == 2 && options_.model == LinearModel::affine)
        descend(candidates[i], LinearModel::scaled, cost, l, record.max_iterations, curvatures_[i],
                record, observer_);
      descend_together(candidates[i], options_.model, cost, l, record.max_iterations,
                       curvatures_[i], record);
    }
    if (last) candidates = {chosen(candidates, record)};
  }

  /// Costs that lie so near are not told apart.
  double cost_tolerance() { return 0.01 * similarity_.measure().range(); }

  /// What is not told apart counts once, the better of the two.
  std::vector<LinearCandidate> apart(const std::vector<LinearCandidate>& candidates) const {
    return distinct(candidates, levels_.fixed_content().center, 8, 2 * levels_.spacing_mm(0),
                    candidates.size());
  }

  /// Of the images on level l or, as noise hides it on finer ones, on the second.
  SharedStructure& structure_on(int l) {
    std::optional<SharedStructure>& structure = structures_[std::min(l, 1)];
    if (l > 0) structures_[0].reset();
    if (!structure) structure.emplace(ctx_, levels_[std::min(l, 1)], ranges_, weights_);
    return *structure;
  }

  /// The one under which the images share most structure; the first where none has a cost.
  std::size_t most_alike(const std::vector<LinearCandidate>& candidates, int l,
                         LevelRecord& record) {
    SharedStructure& structure = structure_on(l);
    std::size_t best = 0;
    double most = -1;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!std::isfinite(candidates[i].cost)) continue;
      const double share = structure.share(candidates[i].world);
      ++record.evaluations;
      if (share <= most) continue;
      best = i;
      most = share;
    }
    return best;
  }

  /// Of the finest level's. By cost where they lie together and where another search was asked for.
  LinearCandidate chosen(const std::vector<LinearCandidate>& candidates, LevelRecord& record) {
    const std::vector<LinearCandidate> all = apart(candidates);
    if (all.size() == 1 || options_.search != LinearSearch::automatic) return all[0];
    return all[most_alike(all, levels_.count() - 1, record)];
  }

  /// The best `least`; what overlaps less than the guard asks does not count there, for in a small
  /// part the measure looks better, but has the first level to itself. Of the automatic search also
  /// all that few parameters on coarse voxels do not tell from the best; the one that shares most
  /// structure; and where all of these are turned far, the best of those that are not.
  std::vector<LinearCandidate> those_that_go_on(const std::vector<LinearCandidate>& candidates,
                                                const Eigen::Affine3d& start, int l,
                                                std::size_t least, LevelRecord& record) {
    const bool automatic = options_.search == LinearSearch::automatic;
    std::vector<LinearCandidate> all = apart(candidates);
    if (all.size() == 1) return all;
    std::vector<bool> goes_on(all.size());
    double enough = -INFINITY;
    std::size_t better = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      goes_on[i] = l == 0;
      if (all[i].least_overlap > 0) continue;
      if (better == 0) enough = all[i].cost + cost_tolerance();
      goes_on[i] = better++ < least || (automatic && all[i].cost < enough);
    }
    if (automatic) {
      goes_on[most_alike(all, l, record)] = true;
      std::optional<std::size_t> as_given;
      bool any = false;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].least_overlap > 0 || angle_between(all[i].world, start) >= far_turned) continue;
        if (!as_given) as_given = i;
        any = any || goes_on[i];
      }
      if (as_given && !any) goes_on[*as_given] = true;
    }
    std::vector<LinearCandidate> kept;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (goes_on[i]) kept.push_back(all[i]);
    return kept;
  }

  /// Of the automatic search: a descent that loses a fifth of the structure which the images shared
  /// was led astray (a joint histogram by a shading); then local correlation leads, if it keeps
  /// more.
  void descend_together(LinearCandidate& candidate, LinearModel model, LinearCost& cost, int l,
                        int iterations, Eigen::MatrixXd& curvature, LevelRecord& record,
                        bool candidate_is_alone = true) {
    constexpr double enough = 0.8;
    const bool automatic = options_.search == LinearSearch::automatic;
    LinearCandidate otherwise = candidate;
    descend(candidate, model, cost, l, iterations, curvature, record, observer_,
            candidate_is_alone);
    if (!automatic) return;
    SharedStructure& structure = structure_on(l);
    const double before = structure.share(otherwise.world);
    const double after = std::isfinite(candidate.cost) ? structure.share(candidate.world) : 0;
    if (after >= enough * before) return;
    Eigen::MatrixXd unknown;
    LevelRecord aside;  // of another measure, whose costs do not compare
    StopObserver silent(observer_.stop_request());
    const int asked = structure.cost().evaluations();
    descend(otherwise, model, structure.cost(), l, iterations, unknown, aside, silent,
            candidate_is_alone);
    record.evaluations += structure.cost().evaluations() - asked;
    if (!std::isfinite(otherwise.cost) || structure.share(otherwise.world) <= after) return;
    otherwise.by_structure = true;
    otherwise.cost = cost.evaluate(otherwise.world);
    candidate = otherwise;
    curvature.resize(0, 0);
    record.stopped_because = aside.stopped_because;
  }

  void descend(LinearCandidate& candidate, LinearModel model, LinearCost& cost, int l,
               int iterations, Eigen::MatrixXd& curvature, LevelRecord& record, Observer& observer,
               bool candidate_is_alone = true) {
    const double spacing = levels_.spacing_mm(l), radius = levels_.fixed_content().radius_mm;
    const LinearParameters parameters(model, levels_.fixed_content().center, radius,
                                      candidate.world,
                                      model == options_.model ? NotFree::dropped : NotFree::held);
    const SmoothCost smooth = cost.of(parameters, guard_, smallest_overlap(candidate));
    Eigen::VectorXd p = parameters.start();
    if (options_.search == LinearSearch::automatic || options_.search == LinearSearch::gradient) {
      QuasiNewtonOptions o;
      o.max_iterations = iterations;
      o.first_step = 0.5 * spacing;
      o.longest_step = 3 * spacing;
      // Where candidates are only compared, a rough minimum tells them apart.
      o.smallest_step = (model == options_.model && candidate_is_alone ? 0.01 : 0.04) * spacing;
      const bool of_ssd = &cost.measure() == &similarity_.measure() &&
                          options_.similarity.is(SimilarityKind::ssd) && weights_.size() == 1;
      if (of_ssd) o.curvature = cost.ssd_curvature_of(parameters);
      candidate.cost = minimize_quasi_newton(smooth, p, curvature, o, record, observer);
    } else {
      const PlainCost plain = [&](const Eigen::VectorXd& q) { return smooth(q, nullptr); };
      const double coarseness = spacing / levels_.spacing_mm(levels_.count() - 1);
      PowellOptions o;
      o.resolution = Eigen::VectorXd::Constant(
          p.size(), coarseness * options_.resolution.degrees * EIGEN_PI / 180 * radius);
      o.resolution.segment<3>(3).setConstant(coarseness * options_.resolution.mm *
                                             levels_.unit_mm());
      o.max_rounds = iterations;
      o.first_step = spacing;
      o.smallest_step = 0.02 * spacing;
      candidate.cost = options_.search == LinearSearch::hill
                           ? minimize_hill(plain, p, o, record, observer)
                           : minimize_powell(plain, p, o, record, observer);
    }
    candidate.world = parameters.affine(p);
    if (guard_.accepts(candidate.world)) candidate.least_overlap = 0;
  }

  /// The blocks decide, unless noise alone agrees with them: a third of the shared structure is
  /// lost; where they do not settle, any of it, or the measure knows better. Nor where the start is
  /// to be kept and the measure prefers it.
  void finish(LinearCandidate& found, const Eigen::Affine3d& start, LinearCost& cost,
              LinearResult& result, LevelRecord& record) {
    result.cost_before = cost.evaluate(start);
    const bool by_structure = found.by_structure;  // so the measure has no say
    // Not so where the start has no overlap.
    const bool lost = !by_structure && result.cost_before < found.cost;
    const bool moved = edge_movement(start, found.world) > levels_.spacing_mm(levels_.count() - 1);
    if (!lost && uses_blocks()) refine_found(found, cost, record);
    const bool contested =
        !by_structure && result.cost_before < found.cost && moved && options_.keep_better_start;
    if (lost || contested) {
      found = {start, result.cost_before};
      result.start_kept = true;
      if (!options_.keep_better_start)
        result.warnings.push_back(
            "no transform was found that is better than the start, so the result is the start");
    }
    result.cost_after = found.cost;
  }

  /// Unasked only where slices are thin: a block of four thick ones (PET: 32 mm of a head) spans
  /// structures, it holds none.
  bool uses_blocks() const {
    constexpr double thickest = 6.0 / 80;  // of the radius
    const bool thick = levels_[levels_.count() - 1].fixed.geometry().spacing.maxCoeff() >
                       thickest * levels_.fixed_content().radius_mm;
    return options_.refines() && !(thick && options_.refinement == LinearRefinement::automatic);
  }

  /// How far the object's edge lies apart under two transforms, mm, roughly.
  double edge_movement(const Eigen::Affine3d& a, const Eigen::Affine3d& b) const {
    const ContentExtent& content = levels_.fixed_content();
    return (a * content.center - b * content.center).norm() +
           content.radius_mm * (a.linear() - b.linear()).norm();
  }

  void refine_found(LinearCandidate& found, LinearCost& cost, LevelRecord& record) {
    const LinearLevel& finest = levels_[levels_.count() - 1];
    const ContentExtent& content = levels_.fixed_content();
    std::vector<BlockChannel> blocks;
    for (std::size_t c = 0; c < weights_.size(); ++c) {
      const ImagePair& pair = finest.channels[c];
      blocks.push_back({{ctx_, pair.fixed, pair.moving}, double(weights_.size()) * weights_[c]});
    }
    BlockRefinementOptions o;
    o.model = options_.model;
    o.center = content.center;
    o.radius_mm = content.radius_mm;
    o.agreement_mm = finest.fixed.geometry().spacing.minCoeff();
    o.smallest_mm *= levels_.unit_mm();
    const auto [world, settled] = refine_by_blocks(ctx_, blocks, found.world, o, record, observer_);
    const LinearParameters parameters(options_.model, content.center, content.radius_mm, world);
    const double refined_cost =
        cost.of(parameters, guard_, smallest_overlap(found))(parameters.start(), nullptr);
    const bool worse = !found.by_structure && refined_cost > found.cost + cost_tolerance();
    const double enough = settled ? 2.0 / 3 : 0.98;
    SharedStructure& structure = structure_on(levels_.count() - 1);
    if (std::isfinite(refined_cost) && (settled || !worse) &&
        structure.share(world) >= enough * structure.share(found.world))
      found = {world, refined_cost};
  }

  Context& ctx_;
  const LinearOptions& options_;
  Observer& observer_;
  const std::vector<double> weights_;  // of the channels
  LinearLevels levels_;
  OverlapGuard guard_;
  ChannelMeasure similarity_;
  std::vector<ChannelRanges> ranges_;
  std::optional<SharedStructure> structures_[2];  // of the two coarsest levels, once asked for
  std::vector<Eigen::MatrixXd> curvatures_;       // of the full model, carried from level to level
};

RatioDirection other(RatioDirection direction) {
  return direction == RatioDirection::moving_given_fixed ? RatioDirection::fixed_given_moving
                                                         : RatioDirection::moving_given_fixed;
}

/// From either image to the other: what makes the part of the moving image that counts like the
/// fixed one most.
LinearResult run_both_ways(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                           const LinearOptions& options, Observer& observer, LinearRun& run) {
  LinearOptions reversed = options;
  reversed.initial = options.initial.inverse();
  reversed.similarity.ratio_direction = other(options.similarity.ratio_direction);
  LinearRun back(ctx, moving.content(ctx), fixed, reversed, observer);
  const LinearResult there = run.run(), from_there = back.run();
  const bool better = back.shared(from_there.affine) > back.shared(there.affine.inverse());
  return better ? run.inverted(from_there) : there;
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
  LinearRun run(ctx, fixed, moving, options, watch);
  LinearResult result = run.goes_back() || (ctx.rehearses() && moving.has_mask())
                            ? run_both_ways(ctx, fixed, moving, options, watch, run)
                            : run.run();
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
