#include <freeflow/registration/flow.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/warp.h>
#include <freeflow/registration/flow_body.h>
#include <freeflow/registration/flow_direction.h>
#include <freeflow/registration/fluid.h>
#include <freeflow/registration/level_loop.h>
#include <freeflow/registration/pace.h>
#include <freeflow/registration/velocity.h>

namespace freeflow {

std::optional<FlowModel> parse_flow_model(std::string_view name) {
  if (name == "fluid") return FlowModel::fluid;
  if (name == "flow") return FlowModel::compositive;
  if (name == "demons") return FlowModel::demons;
  return std::nullopt;
}

std::optional<DemonsKind> parse_demons(std::string_view name) {
  if (name == "log") return DemonsKind::log;
  if (name == "esm") return DemonsKind::esm;
  if (name == "thirion") return DemonsKind::thirion;
  return std::nullopt;
}

std::optional<VelocityKind> parse_velocity(std::string_view name) {
  if (name == "gaussian") return VelocityKind::gaussian;
  if (name == "navier") return VelocityKind::navier;
  return std::nullopt;
}

namespace {

/// What smooths the field takes out what its grid cannot hold, so its voxels are those of each axis. (The update's are the smallest side
/// on all axes: a force spreads through tissue, not through voxels.)
Eigen::Vector3d field_sigma(const FlowOptions& options, int level, const Geometry& grid) {
  const Sigma sigma = options.sigma_field_of_level(level);
  return sigma.in_mm ? in_voxels(sigma, grid) : Eigen::Vector3d::Constant(sigma.value);
}

}  // namespace

std::size_t predict_flow_bytes(const Context& ctx, const Geometry& fixed, const Geometry& moving, const FlowOptions& options,
                               const Masks& masks) {
  options.validate();
  const std::size_t nf = fixed.extent.count(), nm = moving.extent.count();
  const auto measure = make_similarity(options.similarity);
  std::size_t state = 0;
  if (options.model == FlowModel::fluid) {
    state = fluid_bytes(ctx, fixed.extent, options);
  } else {
    const bool exponential = options.symmetric || (options.model == FlowModel::demons && options.demons == DemonsKind::log);
    const std::size_t direction = FlowDirection::bytes(ctx, fixed.extent, options, exponential);
    state = 36 * nf + direction;
    if (options.symmetric) state += 16 * nf + direction + measure->level_bytes(ctx, nf, nf);
  }
  const std::size_t filters = Velocity::bytes(ctx, fixed, options) +
                              GaussianFilter::bytes(ctx, fixed.extent, field_sigma(options, options.levels - 1, fixed), options.smoother);
  return with_small_things(image_bytes(fixed, moving, masks, options.initial_displacement) + measure->level_bytes(ctx, nf, nm) + state +
                           filters);
}

int FlowOptions::iterations_of_level(int level) const {
  constexpr int from_the_finest[] = {12, 40, 80, 100};
  if (iterations.empty()) return from_the_finest[std::min(levels - 1 - level, 3)];
  return iterations.size() == 1 ? iterations[0] : iterations[std::size_t(level)];
}

Sigma FlowOptions::sigma_field_of_level(int level) const {
  if (sigma_field.empty()) return {level == levels - 1 ? 0.3 : 0.5};
  return sigma_field.size() == 1 ? sigma_field[0] : sigma_field[std::size_t(level)];
}

void FlowOptions::validate() const {
  require(levels >= 1 && levels <= 8, "levels must lie between 1 and 8");
  require(iterations.size() <= 1 || int(iterations.size()) == levels,
          "iterations take one value or one per level (" + std::to_string(levels) + "), coarse to fine");
  for (int n : iterations) require(n >= 0, "the number of iterations must not be negative");
  require(sigma_update.value > 0 && sigma_update.value <= 50, "the sigma of the update must lie above 0 and be at most 50");
  require(sigma_field.size() <= 1 || int(sigma_field.size()) == levels,
          "the sigma of the field takes one value or one per level (" + std::to_string(levels) + "), coarse to fine");
  for (const Sigma& s : sigma_field) require(s.value >= 0 && s.value <= 50, "the sigma of the field must lie between 0 and 50");
  require(step > 0 && step <= 1, "the step must lie above 0 and be at most 1 voxel: longer ones may fold");
  require(tolerance >= 0 && std::isfinite(tolerance), "the tolerance must not be negative");
  require(model != FlowModel::demons || velocity == VelocityKind::gaussian,
          "demons smooth their update by a Gaussian; take --velocity gaussian, or --model flow");
  viscosity.validate();
  require(kl >= 0 && kl <= 1e9, "the weight of the Kullback-Leibler term must lie between 0 and 1e9");
  require(kl == 0 || model != FlowModel::demons, "demons take no Kullback-Leibler term; take --model fluid or flow, or --kl 0");
  require(!symmetric || model == FlowModel::compositive || (model == FlowModel::demons && demons == DemonsKind::log),
          "--symmetric goes with --model flow, and with --model demons --demons log");
  require(!initial_displacement || !(symmetric || (model == FlowModel::demons && demons == DemonsKind::log)),
          "a symmetric flow and log-domain demons keep a velocity, which a displacement to start from does not give; start from an affine, "
          "or take another model");
  similarity.validate();
  require(initial.matrix().allFinite() && std::abs(initial.linear().determinant()) > 1e-6,
          "the initial transform is not an invertible affine");
}

namespace {

constexpr double usual_speed = 0.3;  // root mean square of the speeds, in steps

/// One registration: what its levels share.
class FlowRun : public LevelLoop {
 public:
  FlowRun(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const FlowOptions& options, const Masks& masks)
      : LevelLoop(ctx, fixed, moving, masks, options.similarity, options.levels, options.initial, options.initial_displacement),
        options_(options) {
    if (options.symmetric) back_ = make_similarity(options.similarity);
  }

 private:
  void set_ranges(const Volume<float>& fixed, const Volume<float>& moving) override {
    LevelLoop::set_ranges(fixed, moving);
    if (back_) back_->set_range(ctx_, moving, fixed);
  }

  void enter_level(int l, const Geometry& grid) override {
    if (l > 0) {
      state_ = resample(ctx_, state_, grid);
    } else if (options_.initial_displacement) {
      state_ = resample(ctx_, *options_.initial_displacement, grid);
    } else {
      state_ = DisplacementField(ctx_, grid);
      state_.fill_zero(ctx_);
    }
  }

  int iterations_of_level(int l) const override { return options_.iterations_of_level(l); }

  void descend(const ImagePair& images, LevelRecord& level, Observer& observer) override {
    if (!options_.symmetric) {
      FlowDirection forth(ctx_, images, *similarity_, options_, log_domain() ? 1 : 0);
      return iterate(forth, nullptr, level, observer);
    }
    const Volume<float> moving = on_fixed_grid(images);
    const ImagePair swapped{moving, images.fixed, PointMap{}};
    back_->prepare(ctx_, swapped);
    FlowDirection forth(ctx_, images, *similarity_, options_, 1), back(ctx_, swapped, *back_, options_, -1);
    iterate(forth, &back, level, observer);
  }

  /// The moving image through the linear map alone; itself where that changes nothing.
  Volume<float> on_fixed_grid(const ImagePair& images) {
    const Geometry& grid = images.fixed.geometry();
    if (images.fixed_to_moving == PointMap{} && grid.extent == images.moving.extent()) return images.moving.clone(ctx_);
    Volume<float> moving(ctx_, grid);
    warp_values(ctx_, images.moving.view(), images.fixed_to_moving, {nullptr, grid.extent}, moving.view());
    return moving;
  }

  void iterate(FlowDirection& forth, FlowDirection* back, LevelRecord& level, Observer& observer) {
    const Geometry& grid = state_.geometry();
    const std::size_t voxels = grid.extent.count();
    const double smallest = grid.spacing.minCoeff();
    const bool scaled = !FlowDirection::gives_updates(options_);
    const Velocity smooth(ctx_, grid, options_);
    const GaussianFilter field_filter(ctx_, grid.extent, field_sigma(options_, level.level, grid), options_.smoother);
    DisplacementField force(ctx_, grid), velocity(ctx_, grid), force_back;
    if (back) force_back = DisplacementField(ctx_, grid);
    const ReduceWorkspace work(ctx_, voxels, 2);
    Buffer<double> terms(ctx_, 4), sums(ctx_, 2);
    terms.fill_zero(ctx_);
    const Buffer<float> scale(ctx_, 1);
    FlowVelocity moving{std::as_const(velocity).view(), {}};
    for (int c = 0; c < 3; ++c) moving.per_side[c] = float(smallest / grid.spacing[c]);
    if (options_.kl > 0) level.penalty_names = {"symmetric_kl"};
    // One size of step: what smooths the field does not shrink with it, so that smaller ones would lose what is gained.
    FlowPace pace(options_.step, options_.tolerance, 1);
    double last_step = 0;
    for (int k = 0;; ++k) {
      const bool last = k == level.max_iterations;
      const FieldView<const float> state = std::as_const(state_).view();
      forth.evaluate(ctx_, state, pace.step(), force.view(), !last, terms.data());
      if (back) back->evaluate(ctx_, state, pace.step(), force_back.view(), !last, terms.data() + 2);
      if (!last) {
        if (back) for_each_voxel(ctx_, grid.extent, FlowDifferenceBody{force.view(), std::as_const(force_back).view()});
        smooth.from_force(ctx_, force.view(), velocity.view());
        if (scaled) reduce(ctx_, voxels, 2, FlowSpeedBody{{}, moving}, work, sums.data());
      }
      ++level.evaluations;
      const double cost = record(terms.to_host(ctx_), k, last_step * smallest, level);  // the one wait of an iteration
      observer.on_iteration(level);
      if (observer.stop_requested()) throw Cancelled{};
      level.stopped_because = last ? "iterations" : "converged";
      if (last || !pace.goes_on(cost)) return;
      last_step = pace.step();
      for_each_voxel(ctx_, Extent{1, 1, 1}, FlowScaleBody{scaled ? sums.data() : nullptr, usual_speed * last_step, scale.data()});
      move({moving, scale.data(), scaled ? float(1 / last_step) : 0.0f}, force);
      if (field_filter.smooths())
        field_filter.apply(ctx_, force.view(), state_.view());
      else
        std::swap(state_, force);
    }
  }

  /// The moved state, in `out`.
  void move(const FlowMotion& motion, DisplacementField& out) {
    const FieldView<const float> state = std::as_const(state_).view();
    if (composes())
      for_each_voxel(ctx_, out.extent(), FlowComposeBody{motion, state, out.view()});
    else
      for_each_voxel(ctx_, out.extent(), FlowAddBody{motion, state, out.view()});
  }

  /// terms: measure and unbiased term forth, the same back. Returns the cost: the mean of the directions'.
  double record(const std::vector<double>& terms, int k, double step_mm, LevelRecord& level) const {
    const double share = options_.symmetric ? 0.5 : 1.0, similarity = share * (terms[0] + terms[2]), kl = share * (terms[1] + terms[3]);
    if (!std::isfinite(similarity)) throw RegistrationError("the images lost their overlap; start nearer, or take a larger --sigma-update");
    if (std::isnan(kl))
      throw RegistrationError("a Jacobian fell below 0.05, where the Kullback-Leibler term runs away; lower --step, or take --model fluid");
    const double cost = similarity + options_.kl * kl;
    level.iterations.push_back({k, cost, similarity, {}, step_mm});
    if (options_.kl > 0) level.iterations.back().penalties = {kl};
    return cost;
  }

  UnfoldResult finish(DisplacementField& displacement) override {
    back_.reset();
    displacement = log_domain() ? exponential(ctx_, state_) : std::move(state_);
    if (!options_.symmetric) state_ = {};
    return unfold(ctx_, displacement);
  }

  /// Of a symmetric flow exp(-v), unless exp(v) had to be unfolded.
  Inverse inverse_of(const RegistrationResult& result) override {
    if (!options_.symmetric || result.unfolding.rounds > 0) return LevelLoop::inverse_of(result);
    Inverse inverse{exponential(ctx_, state_, exponential_squarings, -1), {}};
    inverse.residual = inverse_residual(ctx_, result.displacement, inverse.field);
    return inverse;
  }

  const char* mend_of_folds() const override { return "raise --sigma-update or --sigma-field, or lower --step"; }

  bool gained(const std::vector<LevelRecord>& levels) const override { return any_level_gained(levels); }

  bool demons(DemonsKind kind) const { return options_.model == FlowModel::demons && options_.demons == kind; }
  bool log_domain() const { return options_.symmetric || demons(DemonsKind::log); }
  bool composes() const { return !log_domain() && !demons(DemonsKind::thirion); }

  const FlowOptions& options_;
  DisplacementField state_;  // u, or the velocity whose exponential it is
  std::unique_ptr<SimilarityMeasure> back_;
};

}  // namespace

RegistrationResult register_flow(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const FlowOptions& options,
                                 const Masks& masks, Observer* observer) {
  options.validate();
  if (options.model == FlowModel::fluid) return register_fluid(ctx, fixed, moving, options, masks, observer);
  return FlowRun(ctx, fixed, moving, options, masks).run(observer);
}

}  // namespace freeflow
