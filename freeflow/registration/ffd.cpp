#include <freeflow/registration/ffd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include <freeflow/deform/control_point_grid.h>
#include <freeflow/registration/ffd_objective.h>
#include <freeflow/registration/pyramid.h>
#include <freeflow/registration/unfold.h>
#include <freeflow/similarity/nmi.h>
#include <freeflow/similarity/ssd.h>

namespace freeflow {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::unique_ptr<SimilarityMeasure> make_similarity(const FfdOptions& o) {
  if (o.similarity == SimilarityKind::ssd) return std::make_unique<Ssd>();
  return std::make_unique<Nmi>(NmiOptions{o.bins, o.histogram_scheme});
}

/// Control spacing on the finest level, mm per axis: never below a voxel and a half, where the spline would fit the grid.
Eigen::Vector3d finest_spacing(const Geometry& fixed, const ControlSpacing& spacing) {
  const double mm = spacing.in_mm ? spacing.value : spacing.value * fixed.spacing.minCoeff();
  return fixed.spacing.cwiseMax(0).unaryExpr([mm](double voxel) { return std::max(mm, 1.5 * voxel); });
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

std::size_t predict_ffd_bytes(const Geometry& fixed, const Geometry& moving, const FfdOptions& options, const Masks& masks) {
  const std::size_t nf = fixed.extent.count(), nm = moving.extent.count();
  Extent lattice;
  const Eigen::Vector3d spacing = finest_spacing(fixed, options.spacing);
  const LatticePlan plan = plan_lattice(fixed, pyramid_factors(fixed, options.levels), options.spacing);
  int* sizes[3] = {&lattice.x, &lattice.y, &lattice.z};
  for (int a = 0; a < 3; ++a) {
    int cells = ControlPointGrid::intervals(fixed, plan.coarsest_spacing, plan.margin, a);
    for (double s = plan.coarsest_spacing[a]; s > 1.5 * spacing[a]; s /= 2) cells *= 2;
    *sizes[a] = cells + 3;
  }
  const std::size_t images = 8 * (nf + nm) + mask_bytes(masks.fixed) + mask_bytes(masks.moving);
  const std::size_t level = make_similarity(options)->level_bytes(nf, nm) + 24 * nf + SplineSampler::bytes(lattice, fixed.extent);
  return images + level + (12 + minimize_bytes_per_parameter * 3 + penalty_bytes_per_node) * lattice.count();
}

std::optional<SimilarityKind> parse_similarity(std::string_view name) {
  if (name == "nmi") return SimilarityKind::nmi;
  if (name == "ssd") return SimilarityKind::ssd;
  return std::nullopt;
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
  require(std::isfinite(spacing.value) && spacing.value > 0, "the control point spacing must be positive");
  require(bending >= 0 && log_jacobian >= 0, "the weights of the penalties must not be negative");
  require(bins >= 16 && bins <= 256, "the number of bins must lie between 16 and 256");
  require(initial.matrix().allFinite() && std::abs(initial.linear().determinant()) > 1e-6,
          "the initial transform is not an invertible affine");
}

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
  const std::vector<Factors> fixed_factors = pyramid_factors(fixed.geometry(), options.levels);
  const std::vector<Factors> moving_factors = pyramid_factors(moving.geometry(), options.levels);
  const LatticePlan plan = plan_lattice(fixed.geometry(), fixed_factors, options.spacing);
  ControlPointGrid lattice(ctx, fixed.geometry(), plan.coarsest_spacing, plan.margin);
  const std::unique_ptr<SimilarityMeasure> similarity = make_similarity(options);
  {
    const Factors full{1, 1, 1};
    const Volume<float> f = pyramid_level(ctx, fixed, masks.fixed, full), m = pyramid_level(ctx, moving, masks.moving, full);
    similarity->set_range(ctx, f, m);
    result.overlap_before =
        overlap_fraction(ctx, {f, m, index_map(fixed.geometry(), options.initial, moving.geometry())}, {nullptr, fixed.extent()});
    if (result.overlap_before == 0)
      throw RegistrationError("the images do not overlap at the start (0 % of the fixed voxels land on the moving image); "
                              "try --init center or --init moments");
  }

  for (int l = 0; l < options.levels; ++l) {
    const auto level_start = Clock::now();
    if (l > 0) lattice = lattice.refined(ctx, plan.refine[l]);
    const Volume<float> f = pyramid_level(ctx, fixed, masks.fixed, fixed_factors[l]);
    const Volume<float> m = pyramid_level(ctx, moving, masks.moving, moving_factors[l]);
    similarity->prepare(ctx, {f, m, index_map(f.geometry(), options.initial, m.geometry())});
    LevelRecord level{l, options.levels, f.extent(), options.iterations_of_level(l), {}, {}, 0};
    FfdObjective objective(ctx, *similarity, lattice, f.geometry(), options.bending, options.log_jacobian);
    OptimizerOptions optimizer;
    optimizer.kind = options.optimizer;
    optimizer.max_iterations = level.max_iterations;
    optimizer.tolerance = options.tolerance;
    optimizer.first_step = 0.5 * f.geometry().spacing.minCoeff();
    optimizer.smallest_step = 0.005 * f.geometry().spacing.minCoeff();
    minimize(ctx, objective, lattice.coefficients(), optimizer, level, watch);
    level.seconds = seconds_since(level_start);
    result.levels.push_back(level);
    watch.on_level_done(level);
  }

  result.displacement = DisplacementField(ctx, fixed.geometry());
  result.unfolding = unfold(ctx, lattice, result.displacement);
  result.overlap_after = overlap_fraction(
      ctx, {fixed, moving, index_map(fixed.geometry(), options.initial, moving.geometry())}, result.displacement.view());
  result.jacobian = jacobian_statistics(ctx, result.displacement);
  result.nonrigid_seconds = seconds_since(start);
  const auto inverse_start = Clock::now();
  result.inverse = invert(ctx, result.displacement);
  result.inverse_seconds = seconds_since(inverse_start);
  return result;
}

}  // namespace freeflow
