#include <freeflow/registration/ffd/ffd.h>

#include <algorithm>
#include <cmath>

#include <freeflow/deform/control_point_grid.h>
#include <freeflow/registration/ffd/ffd_objective.h>
#include <freeflow/registration/levels/level_loop.h>
#include <freeflow/registration/levels/with_prepared.h>

namespace freeflow {

namespace {

double asked_mm(const Geometry& fixed, const ControlSpacing& spacing) {
  return spacing.in_mm ? spacing.value : spacing.value * fixed.spacing.minCoeff();
}

/// Control spacing on the finest level, mm per axis: never below two voxels, where the spline could
/// follow single voxels.
Eigen::Vector3d finest_spacing(const Geometry& fixed, const ControlSpacing& spacing) {
  const double mm = asked_mm(fixed, spacing);
  return fixed.spacing.cwiseMax(0).unaryExpr(
      [mm](double voxel) { return std::max(mm, 2 * voxel); });
}

bool closer_than_the_least(const Geometry& fixed, const ControlSpacing& spacing) {
  return asked_mm(fixed, spacing) < 2 * fixed.spacing.minCoeff() * (1 - 1e-6);
}

/// How often the lattice is halved along each axis after each level.
struct LatticePlan {
  Eigen::Vector3d coarsest_spacing, margin;
  std::vector<std::array<bool, 3>> refine;  // before level l (index 0 unused)
};

LatticePlan plan_lattice(const Geometry& fixed, const std::vector<Factors>& factors,
                         const ControlSpacing& spacing) {
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

}  // namespace

int FfdOptions::iterations_of_level(int level) const {
  if (!iterations.empty()) return given_iterations(level);
  const int above_finest = levels - 1 - level;
  return above_finest == 0 ? 20 : above_finest == 1 ? 60 : 100;
}

void FfdOptions::validate() const {
  validate_levels("FfdOptions");
  require(spacing.value >= 1e-3 && spacing.value <= 1e4,
          "FfdOptions::spacing must lie between 0.001 and 10000");
  require(bending >= 0 && bending <= 1e9, "FfdOptions::bending must lie between 0 and 1e9");
  require(log_jacobian >= 0 && log_jacobian <= 1e9,
          "FfdOptions::log_jacobian must lie between 0 and 1e9");
  require(total_variation >= 0 && total_variation <= 1e9,
          "FfdOptions::total_variation must lie between 0 and 1e9");
  require(slab_voxels >= 1, "FfdOptions::slab_voxels must be positive");
  require(tolerance >= 0 && std::isfinite(tolerance), "FfdOptions::tolerance must not be negative");
}

namespace {

/// On a lattice of this spacing, mm; the finest level's is `finest`. `unit`: of the weights.
std::vector<PenaltyTerm> penalty_terms(const FfdOptions& options, double spacing, double finest,
                                       double unit) {
  const double coarseness = spacing / finest;
  std::vector<PenaltyTerm> terms = {
      {"total_variation", options.total_variation * unit,
       [] { return std::make_unique<TotalVariation>(); }},
      {"bending_energy", options.bending * unit * spacing * spacing,
       [] { return std::make_unique<BendingEnergy>(); }},
      {"log_jacobian", options.log_jacobian * unit * coarseness * coarseness,
       [] { return std::make_unique<LogJacobianPenalty>(); }}};
  terms.insert(terms.end(), options.penalties.begin(), options.penalties.end());
  return terms;
}

/// One registration: what its levels share.
class FfdRun : public LevelLoop {
 public:
  FfdRun(Context& ctx, PreparedImage& fixed, PreparedImage& moving, const FfdOptions& options)
      : LevelLoop(ctx, fixed, moving, options), options_(options),
        plan_(plan_lattice(fixed.geometry(), fixed_factors_, options.spacing)),
        lattice_(ctx, fixed.geometry(), plan_.coarsest_spacing, plan_.margin) {}

 private:
  void enter_level(int l, const Geometry&) override {
    if (l > options_.first_level) lattice_ = lattice_.refined(ctx_, plan_.refine[l]);
    if (l != options_.first_level) return;
    for (int k = 1; k <= l; ++k) lattice_ = lattice_.refined(ctx_, plan_.refine[k]);
    if (options_.initial_displacement) lattice_.interpolate(ctx_, *options_.initial_displacement);
  }

  int iterations_of_level(int l) const override { return options_.iterations_of_level(l); }

  void descend(const std::vector<ImagePair>& channels, LevelRecord& level,
               Observer& observer) override {
    const Geometry& grid = channels[0].fixed.geometry();
    const double finest = finest_spacing(fixed_.geometry(), options_.spacing).minCoeff();
    SimilarityMeasure& measure = similarity_->measure();
    FfdObjective objective(
        ctx_, measure, lattice_, grid,
        penalty_terms(options_, lattice_.spacing_mm().minCoeff(), finest, measure.range()),
        options_.slab_voxels);
    level.penalty_names = objective.penalty_names();
    OptimizerOptions optimizer;
    optimizer.kind = options_.optimizer;
    optimizer.max_iterations = level.max_iterations;
    optimizer.tolerance = options_.tolerance;
    optimizer.first_step = 0.5 * grid.spacing.minCoeff();
    optimizer.smallest_step = 0.005 * grid.spacing.minCoeff();
    minimize(ctx_, objective, lattice_.coefficients(), optimizer, level, observer);
  }

  void finish(RegistrationResult& result, const StopRequest& stop) override {
    result.displacement = DisplacementField(ctx_, fixed_.geometry());
    SplineSampler(ctx_, lattice_, fixed_.geometry())
        .evaluate(ctx_, lattice_.view(), result.displacement.view());
    result.unfolding = unfold(ctx_, result.displacement, {}, stop);
    if (closer_than_the_least(fixed_.geometry(), options_.spacing))
      result.warnings.push_back(
          "control points lie two voxels apart, the least there is; FfdOptions::spacing asks for "
          "less");
    if (!options_.with_control_points) return;
    result.control_points = std::move(lattice_);
    if (result.unfolding.voxels_before > 0)
      result.warnings.push_back(
          "the control points are those before " + std::to_string(result.unfolding.voxels_before) +
          " folded voxels were mended in the displacement, which a spline cannot follow");
  }

  const char* mend_of_folds() const override {
    return "raise FfdOptions::log_jacobian or FfdOptions::bending";
  }

  bool gained(const std::vector<LevelRecord>& levels) const override {
    return std::any_of(levels.begin(), levels.end(),
                       [](const LevelRecord& l) { return l.iterations.size() > 1; }) ||
           std::all_of(levels.begin(), levels.end(),
                       [](const LevelRecord& l) { return l.max_iterations == 0; });
  }

  const FfdOptions& options_;
  LatticePlan plan_;
  ControlPointGrid lattice_;
};

}  // namespace

RegistrationResult register_ffd(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                const FfdOptions& options, Observer* observer) {
  options.validate();
  return FfdRun(ctx, fixed, moving, options).run(observer);
}

RegistrationResult register_ffd(Context& ctx, const Volume<float>& fixed,
                                const Volume<float>& moving, const FfdOptions& options,
                                const Masks& masks, Observer* observer) {
  options.validate();
  return with_prepared(fixed, moving, masks, [&](PreparedImage& f, PreparedImage& m) {
    return register_ffd(ctx, f, m, options, observer);
  });
}

}  // namespace freeflow
