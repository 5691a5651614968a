#include <freeflow/registration/ffd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include <freeflow/deform/control_point_grid.h>
#include <freeflow/registration/ffd_objective.h>
#include <freeflow/registration/pyramid.h>
#include <freeflow/registration/unfold.h>

namespace freeflow {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Control spacing on the finest level, mm per axis: never below two voxels, where the spline could follow single voxels.
Eigen::Vector3d finest_spacing(const Geometry& fixed, const ControlSpacing& spacing) {
  const double mm = spacing.in_mm ? spacing.value : spacing.value * fixed.spacing.minCoeff();
  return fixed.spacing.cwiseMax(0).unaryExpr([mm](double voxel) { return std::max(mm, 2 * voxel); });
}

/// How often the lattice is halved along each axis after each level.
struct LatticePlan {
  Eigen::Vector3d coarsest_spacing, margin;
  std::vector<std::array<bool, 3>> refine;  // before level l (index 0 unused)
};

LatticePlan plan_lattice(const Geometry& fixed, const std::vector<Factors>& factors, const ControlSpacing& spacing) {
  const Eigen::Vector3d finest = finest_spacing(fixed, spacing);
  LatticePlan plan;
  plan.refine.resize(factors.size());
  plan.coarsest_spacing = finest;
  for (std::size_t l = factors.size() - 1; l > 0; --l) {
    const double target = finest.minCoeff() * double(1 << (factors.size() - l));
    for (int a = 0; a < 3; ++a)
      if (plan.coarsest_spacing[a] * 1.4142 <= target) {
        plan.coarsest_spacing[a] *= 2;
        plan.refine[l][a] = true;
      }
  }
  for (int a = 0; a < 3; ++a) plan.margin[a] = 0.5 * (factors.front()[a] - 1) * fixed.spacing[a];
  return plan;
}

std::size_t mask_bytes(const Volume<float>* mask) { return mask ? 4 * mask->extent().count() : 0; }

}  // namespace

std::size_t predict_ffd_bytes(const Context& ctx, const Geometry& fixed, const Geometry& moving, const FfdOptions& options,
                              const Masks& masks) {
  const std::size_t nf = fixed.extent.count(), nm = moving.extent.count();
  Extent lattice;
  const Eigen::Vector3d spacing = finest_spacing(fixed, options.spacing);
  const LatticePlan plan = plan_lattice(fixed, pyramid_factors(fixed, options.levels), options.spacing);
  int* sizes[3] = {&lattice.x, &lattice.y, &lattice.z};
  for (int a = 0; a < 3; ++a) *sizes[a] = ControlPointGrid::intervals(fixed, spacing, plan.margin, a) + 3;
  const std::size_t images = 8 * (nf + nm) + mask_bytes(masks.fixed) + mask_bytes(masks.moving);
  const std::size_t level =
      make_similarity(options.similarity)->level_bytes(ctx, nf, nm) + 24 * nf + SplineSampler::bytes(lattice, fixed.extent);
  const std::size_t sum = images + level + (12 + minimize_bytes_per_parameter * 3 + penalty_bytes_per_node) * lattice.count();
  // Tables, reduction scratch and histograms: small, but a promise of "at most" must hold on small images too.
  return sum + sum / 50 + (std::size_t(1) << 20);
}

int FfdOptions::iterations_of_level(int level) const {
  if (iterations.empty()) return level + 1 == levels ? 60 : 100;
  return iterations.size() == 1 ? iterations[0] : iterations[std::size_t(level)];
}

void FfdOptions::validate() const {
  require(levels >= 1 && levels <= 8, "levels must lie between 1 and 8");
  require(iterations.size() <= 1 || int(iterations.size()) == levels,
          "iterations take one value or one per level (" + std::to_string(levels) + "), coarse to fine");
  for (int n : iterations) require(n >= 0, "the number of iterations must not be negative");
  require(spacing.value >= 1e-3 && spacing.value <= 1e4, "the control point spacing must lie between 0.001 and 10000");
  for (double weight : {bending, log_jacobian})
    require(weight >= 0 && weight <= 1e9, "the weights of the penalties must lie between 0 and 1e9");
  require(tolerance >= 0 && std::isfinite(tolerance), "the tolerance must not be negative");
  similarity.validate();
  require(initial.matrix().allFinite() && std::abs(initial.linear().determinant()) > 1e-6,
          "the initial transform is not an invertible affine");
}

namespace {

/// One registration: what its levels share.
class FfdRun {
 public:
  FfdRun(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const FfdOptions& options, const Masks& masks)
      : ctx_(ctx), fixed_(fixed), moving_(moving), options_(options), masks_(masks),
        fixed_factors_(pyramid_factors(fixed.geometry(), options.levels)),
        moving_factors_(pyramid_factors(moving.geometry(), options.levels)),
        plan_(plan_lattice(fixed.geometry(), fixed_factors_, options.spacing)),
        lattice_(ctx, fixed.geometry(), plan_.coarsest_spacing, plan_.margin), similarity_(make_similarity(options.similarity)) {}

  /// Reads the intensity ranges inside the masks. Returns the overlap at the start.
  double prepare() {
    const Factors full{1, 1, 1};
    const Volume<float> f = pyramid_level(ctx_, fixed_, masks_.fixed, full), m = pyramid_level(ctx_, moving_, masks_.moving, full);
    similarity_->set_range(ctx_, f, m);
    return overlap_fraction(ctx_, {f, m, map_between(f, m)}, {nullptr, f.extent()});
  }

  LevelRecord run_level(int l, Observer& observer) {
    const auto start = Clock::now();
    if (l > 0) lattice_ = lattice_.refined(ctx_, plan_.refine[l]);
    const Volume<float> f = pyramid_level(ctx_, fixed_, masks_.fixed, fixed_factors_[l]);
    const Volume<float> m = pyramid_level(ctx_, moving_, masks_.moving, moving_factors_[l]);
    similarity_->prepare(ctx_, {f, m, map_between(f, m)});
    LevelRecord level;
    level.level = l;
    level.levels = options_.levels;
    level.grid = f.extent();
    level.max_iterations = options_.iterations_of_level(l);
    FfdObjective objective(ctx_, *similarity_, lattice_, f.geometry(), options_.bending, options_.log_jacobian);
    OptimizerOptions optimizer;
    optimizer.kind = options_.optimizer;
    optimizer.max_iterations = level.max_iterations;
    optimizer.tolerance = options_.tolerance;
    optimizer.first_step = 0.5 * f.geometry().spacing.minCoeff();
    optimizer.smallest_step = 0.005 * f.geometry().spacing.minCoeff();
    minimize(ctx_, objective, lattice_.coefficients(), optimizer, level, observer);
    level.seconds = seconds_since(start);
    observer.on_level_done(level);
    return level;
  }

  /// The displacement on the fixed grid, without folds. Ends the run: the measure's memory is given back.
  UnfoldResult finish(DisplacementField& displacement) {
    similarity_.reset();
    displacement = DisplacementField(ctx_, fixed_.geometry());
    return unfold(ctx_, lattice_, displacement);
  }

  PointMap map_between(const Volume<float>& f, const Volume<float>& m) const {
    return index_map(f.geometry(), options_.initial, m.geometry());
  }

 private:
  Context& ctx_;
  const Volume<float>&fixed_, &moving_;
  const FfdOptions& options_;
  const Masks& masks_;
  std::vector<Factors> fixed_factors_, moving_factors_;
  LatticePlan plan_;
  ControlPointGrid lattice_;
  std::unique_ptr<SimilarityMeasure> similarity_;
};

}  // namespace

RegistrationResult register_ffd(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const FfdOptions& options,
                                const Masks& masks, Observer* observer) {
  options.validate();
  fixed.geometry().validate("the fixed image");
  moving.geometry().validate("the moving image");
  Observer silent;
  Observer& watch = observer ? *observer : silent;
  const auto start = Clock::now();

  RegistrationResult result;
  result.affine = options.initial;
  FfdRun run(ctx, fixed, moving, options, masks);
  result.overlap_before = run.prepare();
  if (result.overlap_before == 0)
    throw RegistrationError(
        "the images do not overlap at the start (0 % of the fixed voxels land on the moving image); "
        "start from --init center or --init moments");
  for (int l = 0; l < options.levels; ++l) result.levels.push_back(run.run_level(l, watch));
  result.unfolding = run.finish(result.displacement);
  result.overlap_after = overlap_fraction(ctx, {fixed, moving, run.map_between(fixed, moving)}, result.displacement.view());
  result.jacobian = jacobian_statistics(ctx, result.displacement);
  if (result.jacobian.folded_voxels > 0)
    result.warnings.push_back(std::to_string(result.jacobian.folded_voxels) +
                              " voxels of the deformation fold; raise --log-jacobian or --bending");
  if (std::all_of(result.levels.begin(), result.levels.end(), [](const LevelRecord& l) { return l.iterations.size() <= 1; }) &&
      std::any_of(result.levels.begin(), result.levels.end(), [](const LevelRecord& l) { return l.max_iterations > 0; }))
    result.warnings.push_back("no step lowered the cost on any level, so the result is the start");
  result.nonrigid_seconds = seconds_since(start);

  const auto inverse_start = Clock::now();
  result.inverse = invert(ctx, result.displacement);
  result.inverse_seconds = seconds_since(inverse_start);
  return result;
}

}  // namespace freeflow
