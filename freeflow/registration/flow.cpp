#include <freeflow/registration/flow.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/registration/demons_force.h>
#include <freeflow/registration/flow_body.h>
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

std::optional<VelocityKind> parse_velocity(std::string_view name) {
  if (name == "gaussian") return VelocityKind::gaussian;
  if (name == "navier") return VelocityKind::navier;
  return std::nullopt;
}

std::size_t predict_flow_bytes(const Context& ctx, const Geometry& fixed, const Geometry& moving, const FlowOptions& options,
                               const Masks& masks) {
  const std::size_t nf = fixed.extent.count(), nm = moving.extent.count();
  const std::size_t fields = options.model == FlowModel::fluid ? fluid_bytes(ctx, fixed.extent, options)
                                                               : std::size_t(options.model == FlowModel::demons ? 52 : 36) * nf;
  const std::size_t filters = Velocity::bytes(ctx, fixed, options) +
                              GaussianFilter::bytes(ctx, fixed.extent, in_voxels(options.sigma_field, fixed), options.smoother);
  return with_small_things(image_bytes(fixed, moving, masks) + make_similarity(options.similarity)->level_bytes(ctx, nf, nm) + fields +
                           filters);
}

int FlowOptions::iterations_of_level(int level) const {
  if (iterations.empty()) return std::min(60, 20 * (levels - level));
  return iterations.size() == 1 ? iterations[0] : iterations[std::size_t(level)];
}

void FlowOptions::validate() const {
  require(levels >= 1 && levels <= 8, "levels must lie between 1 and 8");
  require(iterations.size() <= 1 || int(iterations.size()) == levels,
          "iterations take one value or one per level (" + std::to_string(levels) + "), coarse to fine");
  for (int n : iterations) require(n >= 0, "the number of iterations must not be negative");
  require(sigma_update.value > 0 && sigma_update.value <= 50, "the sigma of the update must lie above 0 and be at most 50");
  require(sigma_field.value >= 0 && sigma_field.value <= 50, "the sigma of the field must lie between 0 and 50");
  require(step > 0 && step <= 1, "the step must lie above 0 and be at most 1 voxel: longer ones may fold");
  require(tolerance >= 0 && std::isfinite(tolerance), "the tolerance must not be negative");
  require(model != FlowModel::demons || velocity == VelocityKind::gaussian,
          "demons smooth their update by a Gaussian; take --velocity gaussian, or --model flow");
  viscosity.validate();
  require(kl >= 0 && kl <= 1e9, "the weight of the Kullback-Leibler term must lie between 0 and 1e9");
  require(kl == 0 || model == FlowModel::fluid, "the Kullback-Leibler term belongs to the fluid; take --model fluid, or --kl 0");
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
      : LevelLoop(ctx, fixed, moving, masks, options.similarity, options.levels, options.initial), options_(options) {}

 private:
  void enter_level(int l, const Geometry& grid) override {
    if (l > 0) {
      state_ = resample(ctx_, state_, grid);
    } else {
      state_ = DisplacementField(ctx_, grid);
      state_.fill_zero(ctx_);
    }
  }

  int iterations_of_level(int l) const override { return options_.iterations_of_level(l); }

  void descend(const ImagePair& images, LevelRecord& level, Observer& observer) override {
    const Geometry& grid = state_.geometry();
    const std::size_t voxels = grid.extent.count();
    const double smallest = grid.spacing.minCoeff();
    const Velocity smooth(ctx_, grid, options_);
    const GaussianFilter field_filter(ctx_, grid.extent, in_voxels(options_.sigma_field, grid), options_.smoother);
    DisplacementField force(ctx_, grid), velocity(ctx_, grid), exponential_of_state;
    std::optional<DemonsForce> demons;
    if (log_domain()) exponential_of_state = DisplacementField(ctx_, grid);
    if (log_domain() && options_.similarity.kind == SimilarityKind::ssd) demons.emplace(ctx_, images);
    const ReduceWorkspace work(ctx_, voxels, 2);
    const Buffer<double> cost(ctx_, 1), sums(ctx_, 2);
    const Buffer<float> scale(ctx_, 1);
    FlowVelocity moving{std::as_const(velocity).view(), {}};
    for (int c = 0; c < 3; ++c) moving.per_side[c] = float(smallest / grid.spacing[c]);
    FlowPace pace(options_.step, options_.tolerance);
    double last_step = 0;
    for (int k = 0;; ++k) {
      const bool last = k == level.max_iterations;
      if (log_domain()) exponential(ctx_, std::as_const(state_).view(), exponential_of_state.view(), force.view());
      const FieldView<const float> u = log_domain() ? std::as_const(exponential_of_state).view() : std::as_const(state_).view();
      similarity_->evaluate(ctx_, u, last || demons ? FieldView<float>{nullptr, grid.extent} : force.view(), cost.data());
      if (!last) {
        if (demons) demons->evaluate(ctx_, u, pace.step(), force.view());
        smooth.from_force(ctx_, force.view(), velocity.view());
        if (!demons) reduce(ctx_, voxels, 2, FlowSpeedBody{{}, moving}, work, sums.data());
      }
      ++level.evaluations;
      const double now = cost.to_host(ctx_)[0];  // the one wait of an iteration
      if (!std::isfinite(now)) throw RegistrationError("the images lost their overlap; start nearer, or take a larger --sigma-update");
      level.iterations.push_back({k, now, now, {}, last_step * smallest});
      observer.on_iteration(level);
      if (observer.stop_requested()) throw Cancelled{};
      level.stopped_because = last ? "iterations" : "converged";
      if (last || !pace.goes_on(now)) return;
      last_step = pace.step();
      for_each_voxel(ctx_, Extent{1, 1, 1}, FlowScaleBody{demons ? nullptr : sums.data(), usual_speed * last_step, scale.data()});
      const FlowMotion motion{moving, scale.data(), demons ? 0.0f : float(1 / last_step)};
      if (log_domain())
        for_each_voxel(ctx_, grid.extent, FlowAddBody{motion, std::as_const(state_).view(), force.view()});
      else
        for_each_voxel(ctx_, grid.extent, FlowComposeBody{motion, std::as_const(state_).view(), force.view()});
      if (field_filter.smooths())
        field_filter.apply(ctx_, force.view(), state_.view());
      else
        std::swap(state_, force);
    }
  }

  UnfoldResult finish(DisplacementField& displacement) override {
    displacement = log_domain() ? exponential(ctx_, state_) : std::move(state_);
    state_ = {};
    return unfold(ctx_, displacement);
  }

  const char* mend_of_folds() const override { return "raise --sigma-update or --sigma-field, or lower --step"; }

  bool gained(const std::vector<LevelRecord>& levels) const override { return any_level_gained(levels); }

  bool log_domain() const { return options_.model == FlowModel::demons; }

  const FlowOptions& options_;
  DisplacementField state_;  // u, or the velocity whose exponential it is
};

}  // namespace

RegistrationResult register_flow(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const FlowOptions& options,
                                 const Masks& masks, Observer* observer) {
  options.validate();
  if (options.model == FlowModel::fluid) return register_fluid(ctx, fixed, moving, options, masks, observer);
  return FlowRun(ctx, fixed, moving, options, masks).run(observer);
}

}  // namespace freeflow
