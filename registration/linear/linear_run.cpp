#include <freeflow/registration/linear/linear_run.h>

#include <cmath>

#include <freeflow/registration/levels/seconds_since.h>
#include <freeflow/registration/linear/block_refinement.h>
#include <freeflow/registration/linear/powell.h>
#include <freeflow/registration/linear/rotation_search.h>
#include <freeflow/similarity/overlap.h>

namespace freeflow {

LinearRun::LinearRun(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                     const LinearOptions& options, Observer& observer)
    : ctx_(ctx), options_(options), observer_(observer),
      weights_(options.similarity.weights_of(common_channels(fixed, moving))),
      levels_(ctx, fixed, moving, options.levels, options.initial),
      guard_(ctx, levels_[0].fixed, levels_[0].moving),
      similarity_(options.similarity, fixed.channels()) {
  const LinearLevel& typical = levels_[std::min(1, levels_.count() - 1)];
  ranges_ = channel_ranges(ctx, fixed, typical.fixed_steps, moving, typical.moving_steps);
  for (std::size_t c = 0; c < ranges_.size(); ++c)
    similarity_.set_ranges(c, ranges_[c].fixed, ranges_[c].moving);
}

LinearResult LinearRun::run(const Eigen::Affine3d& from) {
  LinearResult result;
  result.center = levels_.fixed_content().center;
  const Eigen::Affine3d given = as_model(options_.initial), start = as_model(from);
  result.overlap_before = overlap(given);
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
    if (l + 1 == levels_.count()) {
      result.cost_before = cost.evaluate(given);
      const double at_start =
          start.matrix() == given.matrix() ? result.cost_before : cost.evaluate(start);
      finish(candidates.front(), {start, at_start}, cost, result, record);
    }
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

bool LinearRun::goes_back() const {
  constexpr double small = 0.5;
  return guard_.moving_is_masked() && guard_.measured_ratio() < small &&
         options_.model != LinearModel::scaled;
}

double LinearRun::shared(const Eigen::Affine3d& world) {
  return structure_on(levels_.count() - 1).share(world);
}

LinearResult LinearRun::inverted(LinearResult back) {
  back.affine = back.affine.inverse();
  back.center = levels_.fixed_content().center;
  back.parts = decompose(back.affine, back.center);
  back.overlap_before = overlap(options_.initial);
  back.overlap_after = overlap(back.affine);
  return back;
}

LinearResult LinearRun::kept(LinearResult found, const Eigen::Affine3d& world) {
  const LinearLevel& finest = levels_[levels_.count() - 1];
  found.affine = world;
  found.parts = decompose(world, found.center);
  found.overlap_after = overlap(world);
  found.cost_after =
      LinearCost(ctx_, similarity_.measure(), finest.fixed, finest.moving).evaluate(world);
  return found;
}

double LinearRun::overlap(const Eigen::Affine3d& world) {
  const LinearLevel& finest = levels_[levels_.count() - 1];
  return overlap_fraction(ctx_,
                          {finest.fixed, finest.moving,
                           index_map(finest.fixed.geometry(), world, finest.moving.geometry())},
                          {nullptr, finest.fixed.extent()});
}

Eigen::Affine3d LinearRun::as_model(const Eigen::Affine3d& world) const {
  const LinearParameters parameters(options_.model, levels_.fixed_content().center,
                                    levels_.fixed_content().radius_mm, world);
  return parameters.affine(parameters.start());
}

void LinearRun::add_candidates(std::vector<LinearCandidate>& candidates, int l,
                               const Eigen::Affine3d& start, LevelRecord& record) {
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

void LinearRun::add_unturned(std::vector<LinearCandidate>& candidates, const Eigen::Affine3d& start,
                             LinearCost& cost, LevelRecord& record) {
  constexpr double more = 1.1;
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [](const auto& a, const auto& b) { return a.cost < b.cost; });
  if (options_.search != LinearSearch::automatic || angle_between(best->world, start) < far_turned)
    return;
  const Eigen::Vector3d center = levels_.fixed_content().center;
  const Eigen::Translation3d to_center(levels_.moving_content().center - start * center);
  SharedStructure& structure = structure_on(0);
  double most = 0;
  for (const LinearCandidate& c : candidates)
    if (std::isfinite(c.cost)) most = std::max(most, structure.share(c.world));
  std::optional<LinearCandidate> found;
  for (const Eigen::Affine3d& from : {start, to_center * start}) {
    LinearCandidate led{from};
    LevelRecord aside;
    follow_structure(led, coarse_model(), 0, coarse_iterations(record), aside, record, false);
    const double share = std::isfinite(led.cost) ? structure.share(led.world) : 0;
    if (share <= (found ? most : more * most)) continue;
    most = share;
    found = led;
  }
  if (!found) return;
  std::erase_if(candidates, [&](const LinearCandidate& c) {
    return near(c.world, found->world, center, near_degrees(), near_mm());
  });
  found->cost = cost.evaluate(found->world);
  candidates.push_back(*found);
}

void LinearRun::refine(std::vector<LinearCandidate>& candidates, const Eigen::Affine3d& start,
                       LinearCost& cost, int l, LevelRecord& record) {
  const bool last = l + 1 == levels_.count();
  if (l == 0 || (l == 1 && candidates.size() > 1)) {
    for (LinearCandidate& c : candidates) {
      Eigen::MatrixXd curvature;
      descend_together(c, coarse_model(), cost, l, coarse_iterations(record), curvature, record,
                       false);
    }
    if (l == 0) add_unturned(candidates, start, cost, record);
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
    descend_together(candidates[i], options_.model, cost, l, record.max_iterations, curvatures_[i],
                     record);
  }
  if (last) candidates = {chosen(candidates, record)};
}

void LinearRun::descend_together(LinearCandidate& candidate, LinearModel model, LinearCost& cost,
                                 int l, int iterations, Eigen::MatrixXd& curvature,
                                 LevelRecord& record, bool candidate_is_alone) {
  constexpr double enough = 0.8;
  const bool automatic = options_.search == LinearSearch::automatic;
  LinearCandidate otherwise = candidate;
  descend(candidate, model, cost, l, iterations, curvature, record, observer_, candidate_is_alone);
  if (!automatic) return;
  SharedStructure& structure = structure_on(l);
  const double before = structure.share(otherwise.world);
  const double after = std::isfinite(candidate.cost) ? structure.share(candidate.world) : 0;
  if (after >= enough * before) return;
  LevelRecord aside;
  follow_structure(otherwise, model, l, iterations, aside, record, candidate_is_alone);
  if (!std::isfinite(otherwise.cost) || structure.share(otherwise.world) <= after) return;
  otherwise.cost = cost.evaluate(otherwise.world);
  candidate = otherwise;
  curvature.resize(0, 0);
  record.stopped_because = aside.stopped_because;
}

void LinearRun::follow_structure(LinearCandidate& candidate, LinearModel model, int l,
                                 int iterations, LevelRecord& aside, LevelRecord& record,
                                 bool candidate_is_alone) {
  LinearCost& correlation = structure_on(l).cost();
  Eigen::MatrixXd unknown;
  StopObserver silent(observer_.stop_request());
  const int asked = correlation.evaluations();
  descend(candidate, model, correlation, l, iterations, unknown, aside, silent, candidate_is_alone);
  candidate.by_structure = true;
  record.evaluations += correlation.evaluations() - asked;
}

void LinearRun::descend(LinearCandidate& candidate, LinearModel model, LinearCost& cost, int l,
                        int iterations, Eigen::MatrixXd& curvature, LevelRecord& record,
                        Observer& observer, bool candidate_is_alone) {
  const double spacing = levels_.spacing_mm(l), radius = levels_.fixed_content().radius_mm;
  const LinearParameters parameters(model, levels_.fixed_content().center, radius, candidate.world,
                                    model == options_.model ? NotFree::dropped : NotFree::held);
  const SmoothCost smooth =
      cost.of(parameters, guard_, smallest_overlap(candidate), as_model(options_.initial));
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
    o.resolution.segment<3>(3).setConstant(coarseness * options_.resolution.mm * levels_.unit_mm());
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

void LinearRun::finish(LinearCandidate& found, const LinearCandidate& start, LinearCost& cost,
                       LinearResult& result, LevelRecord& record) {
  const bool by_structure = found.by_structure;  // so the measure has no say
  // Nor has it, alone, where the start overlaps far less: in a sliver any histogram looks good.
  const auto shares_more = [&] {
    SharedStructure& structure = structure_on(levels_.count() - 1);
    return structure.share(start.world) > structure.share(found.world);
  };
  const bool comparable =
      !by_structure &&
      (guard_.overlap(start.world) >= guard_.smallest_from(found.world) || shares_more());
  const bool lost = comparable && start.cost < found.cost;
  const bool moved =
      edge_movement(start.world, found.world) > levels_.spacing_mm(levels_.count() - 1);
  if (!lost && uses_blocks()) refine_found(found, cost, record);
  const bool contested =
      comparable && start.cost < found.cost && moved && options_.keep_better_start;
  if (lost || contested) {
    found = start;
    result.start_kept = true;
    if (!options_.keep_better_start)
      result.warnings.push_back(
          "no transform was found that is better than the start, so the result is the start");
  }
  result.cost_after = found.cost;
}

bool LinearRun::uses_blocks() const {
  constexpr double thickest = 6.0 / 80;  // of the radius
  const bool thick = levels_[levels_.count() - 1].fixed.geometry().spacing.maxCoeff() >
                     thickest * levels_.fixed_content().radius_mm;
  return options_.refines() && !(thick && options_.refinement == LinearRefinement::automatic);
}

double LinearRun::edge_movement(const Eigen::Affine3d& a, const Eigen::Affine3d& b) const {
  const ContentExtent& content = levels_.fixed_content();
  return (a * content.center - b * content.center).norm() +
         content.radius_mm * (a.linear() - b.linear()).norm();
}

void LinearRun::refine_found(LinearCandidate& found, LinearCost& cost, LevelRecord& record) {
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
  const double refined_cost = cost.of(parameters, guard_, smallest_overlap(found),
                                      as_model(options_.initial))(parameters.start(), nullptr);
  const bool worse = !found.by_structure && refined_cost > found.cost + cost_tolerance();
  const double enough = settled ? 2.0 / 3 : 0.98;
  SharedStructure& structure = structure_on(levels_.count() - 1);
  if (std::isfinite(refined_cost) && (settled || !worse) &&
      structure.share(world) >= enough * structure.share(found.world))
    found = {world, refined_cost};
}

}  // namespace freeflow
