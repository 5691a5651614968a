#include <freeflow/registration/ffd.h>

#include <algorithm>
#include <cmath>

#include <freeflow/deform/control_point_grid.h>
#include <freeflow/registration/ffd_objective.h>
#include <freeflow/registration/level_loop.h>

namespace freeflow {

namespace {

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

}  // namespace

std::size_t predict_ffd_bytes(const Context& ctx, const Geometry& fixed, const Geometry& moving, const FfdOptions& options,
                              const Masks& masks) {
  options.validate();
  const std::size_t nf = fixed.extent.count(), nm = moving.extent.count();
  Extent lattice;
  const Eigen::Vector3d spacing = finest_spacing(fixed, options.spacing);
  const LatticePlan plan = plan_lattice(fixed, pyramid_factors(fixed, options.levels), options.spacing);
  int* sizes[3] = {&lattice.x, &lattice.y, &lattice.z};
  for (int a = 0; a < 3; ++a) *sizes[a] = ControlPointGrid::intervals(fixed, spacing, plan.margin, a) + 3;
  const std::size_t level =
      make_similarity(options.similarity)->level_bytes(ctx, nf, nm) + 24 * nf + SplineSampler::bytes(lattice, fixed.extent);
  const std::size_t parameters = (12 + minimize_bytes_per_parameter * 3 + penalty_bytes_per_node) * lattice.count();
  return with_small_things(image_bytes(fixed, moving, masks, options.initial_displacement) + level + parameters);
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
class FfdRun : public LevelLoop {
 public:
  FfdRun(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const FfdOptions& options, const Masks& masks)
      : LevelLoop(ctx, fixed, moving, masks, options.similarity, options.levels, options.initial, options.initial_displacement),
        options_(options), plan_(plan_lattice(fixed.geometry(), fixed_factors_, options.spacing)),
        lattice_(ctx, fixed.geometry(), plan_.coarsest_spacing, plan_.margin) {}

 private:
  void enter_level(int l, const Geometry&) override {
    if (l > 0)
      lattice_ = lattice_.refined(ctx_, plan_.refine[l]);
    else if (options_.initial_displacement)
      lattice_.interpolate(ctx_, *options_.initial_displacement);
  }

  int iterations_of_level(int l) const override { return options_.iterations_of_level(l); }

  void descend(const ImagePair& images, LevelRecord& level, Observer& observer) override {
    const Geometry& grid = images.fixed.geometry();
    level.penalty_names = {"bending_energy", "log_jacobian"};
    FfdObjective objective(ctx_, *similarity_, lattice_, grid, options_.bending, options_.log_jacobian);
    OptimizerOptions optimizer;
    optimizer.kind = options_.optimizer;
    optimizer.max_iterations = level.max_iterations;
    optimizer.tolerance = options_.tolerance;
    optimizer.first_step = 0.5 * grid.spacing.minCoeff();
    optimizer.smallest_step = 0.005 * grid.spacing.minCoeff();
    minimize(ctx_, objective, lattice_.coefficients(), optimizer, level, observer);
  }

  UnfoldResult finish(DisplacementField& displacement) override {
    displacement = DisplacementField(ctx_, fixed_.geometry());
    return unfold(ctx_, lattice_, displacement);
  }

  const char* mend_of_folds() const override { return "raise --log-jacobian or --bending"; }

  bool gained(const std::vector<LevelRecord>& levels) const override {
    return std::any_of(levels.begin(), levels.end(), [](const LevelRecord& l) { return l.iterations.size() > 1; }) ||
           std::all_of(levels.begin(), levels.end(), [](const LevelRecord& l) { return l.max_iterations == 0; });
  }

  const FfdOptions& options_;
  LatticePlan plan_;
  ControlPointGrid lattice_;
};

}  // namespace

RegistrationResult register_ffd(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const FfdOptions& options,
                                const Masks& masks, Observer* observer) {
  options.validate();
  return FfdRun(ctx, fixed, moving, options, masks).run(observer);
}

}  // namespace freeflow
