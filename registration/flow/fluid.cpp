#include <freeflow/registration/flow/fluid.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/registration/flow/fluid_body.h>
#include <freeflow/registration/flow/pace.h>
#include <freeflow/registration/flow/penalty_sum.h>
#include <freeflow/registration/flow/velocity.h>
#include <freeflow/registration/levels/level_loop.h>
#include <freeflow/registration/levels/with_prepared.h>

namespace freeflow {

void FluidOptions::validate() const {
  validate_steps("FluidOptions");
  viscosity.validate();
  require(kl >= 0 && kl <= 1e9, "FluidOptions::kl must lie between 0 and 1e9");
}

namespace {

constexpr double regridding_jacobian = 0.5, smallest_jacobian = 0.05;

/// The whole displacement: u, then `base`.
struct FluidState {
  DisplacementField u, base;
  bool has_base = false;  // else it is 0

  /// Composed into `spare` where there is a base; u itself otherwise.
  FieldView<const float> whole(Context& ctx, DisplacementField& spare) const {
    if (!has_base) return u.view();
    for_each_voxel(ctx, u.extent(), ComposeBody{u.view(), base.view(), spare.view(), 1.0f, 1.0f});
    return std::as_const(spare).view();
  }
};

/// What a level's iterations need besides the state.
class FluidLevel {
 public:
  FluidLevel(Context& ctx, const Geometry& grid, const FluidOptions& options,
             SimilarityMeasure& similarity, FluidState& state)
      : ctx_(ctx), grid_(grid), options_(options), similarity_(similarity), state_(state),
        smooth_(ctx, grid, options, options.velocity, options.viscosity),
        penalties_(ctx, grid.extent, options.penalties), force_(ctx, grid), velocity_(ctx, grid),
        previous_(ctx, grid), total_(ctx, grid), work_(ctx, grid.extent.count(), 1),
        scalars_(ctx, 4 + options.penalties.size()), dt_(ctx, 1) {
    if (options.kl > 0) kl_.emplace(ctx, grid.extent, options.force_kernel);
    for (int c = 0; c < 3; ++c) per_side_[c] = float(grid.spacing.minCoeff() / grid.spacing[c]);
    previous_.fill_zero(ctx);
  }

  void run(LevelRecord& level, Observer& observer) {
    const double smallest = grid_.spacing.minCoeff();
    FlowPace pace(options_.step, options_.tolerance, 3);
    double cut = 1, last_step = 0;  // cut: what steps taken back leave of the step
    if (kl_) level.penalty_names = {"symmetric_kl"};
    for (const PenaltyTerm& p : options_.penalties) level.penalty_names.push_back(p.name);
    for (int k = 0;; ++k) {
      const bool last = k == level.max_iterations;
      const Measured now = evaluate(last ? 0 : cut * pace.step());
      ++level.evaluations;
      if (!std::isfinite(now.similarity))
        throw RegistrationError(
            "the images lost their overlap; start nearer, or take a larger "
            "StepOptions::sigma_update");
      if (std::isnan(now.kl)) {  // not at a level's start, which unfold() made good
        std::swap(state_.u, previous_);
        cut *= 0.5;
        last_step = 0;  // what is recorded next has been before
        level.stopped_because = "reached the number of iterations";
        if (last) return;
        continue;
      }
      const double cost = now.similarity + options_.kl * now.kl +
                          weighted_sum(options_.penalties, now.penalties.data());
      level.iterations.push_back({k, cost, now.similarity, {}, last_step * smallest});
      std::vector<double>& penalties = level.iterations.back().penalties;
      if (kl_) penalties = {now.kl};
      penalties.insert(penalties.end(), now.penalties.begin(), now.penalties.end());
      observer.on_iteration(level);
      if (observer.stop_requested()) throw Cancelled{};
      level.stopped_because = last ? "reached the number of iterations" : "converged";
      if (last || !pace.goes_on(cost)) return;
      last_step = cut * pace.step();
      if (now.shrinking > 1 - regridding_jacobian) {
        regrid(last_step);
        ++level.regriddings;
      }
      std::swap(previous_, state_.u);
      std::swap(state_.u, force_);
    }
  }

 private:
  struct Measured {
    double similarity, kl, shrinking;
    std::vector<double> penalties;
  };

  /// The energy, and, with a step, the state after it in force_.
  Measured evaluate(double step) {
    const FieldView<const float> w = state_.whole(ctx_, total_);
    FieldView<float> force = force_.view();
    double* scalars = scalars_.data();
    similarity_.evaluate(ctx_, w, step > 0 ? force : FieldView<float>{nullptr, grid_.extent},
                         scalars);
    ctx_.fill_zero(scalars + 1, 3 * sizeof(double));
    penalties_.add_force(ctx_, w, force, scalars + 4);
    if (kl_) kl_->energy(ctx_, w, smallest_jacobian, scalars + 1);
    if (step > 0) {
      if (kl_) kl_->add_force(ctx_, w, options_.kl, force);
      smooth_.from_force(ctx_, force, velocity_.view());
      take_step(std::as_const(state_.u).view(), step);
    }
    const std::vector<double> s = scalars_.to_host(ctx_);  // the one wait of an iteration
    return {s[0], s[1], s[3], {s.begin() + 4, s.end()}};
  }

  /// force_ = u + dt (v + grad u v), and how far its determinant shrinks.
  void take_step(FieldView<const float> u, double step) {
    double* scalars = scalars_.data();
    const std::size_t voxels = grid_.extent.count();
    FluidRateBody rate{{std::as_const(velocity_).view(), {}}, u, force_.view()};
    FluidSpeedBody speed{{}, std::as_const(force_).view(), {}};
    for (int c = 0; c < 3; ++c)
      rate.velocity.per_side[c] = per_side_[c], speed.sides[c] = 1 / per_side_[c];
    for_each_voxel(ctx_, grid_.extent, rate);
    reduce(ctx_, voxels, 1, speed, work_, scalars + 2);
    for_each_voxel(ctx_, Extent{1, 1, 1}, FluidTimeStepBody{scalars + 2, step, dt_.data()});
    for_each_voxel(ctx_, grid_.extent, FluidStepBody{u, dt_.data(), force_.view()});
    reduce(ctx_, voxels, 1, FluidShrinkingBody{{}, std::as_const(force_).view()}, work_,
           scalars + 3);
  }

  /// Moves u into the base and takes the step from 0, as long as the determinant allows. `step`
  /// becomes what was taken.
  void regrid(double& step) {
    std::swap(state_.base, state_.has_base ? total_ : state_.u);  // `whole` has just been called
    state_.has_base = true;
    state_.u.fill_zero(ctx_);
    for (;; step *= 0.5) {
      take_step({nullptr, grid_.extent}, step);
      if (scalars_.to_host(ctx_)[3] <= 1 - regridding_jacobian) return;
    }
  }

  Context& ctx_;
  const Geometry& grid_;
  const FluidOptions& options_;
  SimilarityMeasure& similarity_;
  FluidState& state_;
  const Velocity smooth_;
  std::optional<SymmetricKl> kl_;
  PenaltySum penalties_;
  DisplacementField force_, velocity_, previous_, total_;
  const ReduceWorkspace work_;
  const Buffer<double> scalars_;  // measure, Kullback-Leibler, fastest, shrinking, penalties
  const Buffer<float> dt_;
  float per_side_[3];
};

class FluidRun : public LevelLoop {
 public:
  FluidRun(Context& ctx, PreparedImage& fixed, PreparedImage& moving, const FluidOptions& options)
      : LevelLoop(ctx, fixed, moving, options), options_(options) {}

 private:
  void enter_level(int l, const Geometry& grid) override {
    const bool later = l > options_.first_level;
    if (later)
      state_.base = resample(ctx_, compose(ctx_, state_.u, state_.base), grid);
    else if (options_.initial_displacement)
      state_.base = resample(ctx_, *options_.initial_displacement, grid);
    state_.has_base = later || options_.initial_displacement;
    if (!state_.has_base) {
      state_.base = DisplacementField(ctx_, grid);
      state_.base.fill_zero(ctx_);
    } else if (options_.kl > 0) {
      unfold(ctx_, state_.base,
             {smallest_jacobian});  // sampling may fold, and its logarithm must exist
    }
    state_.u = DisplacementField(ctx_, grid);
    state_.u.fill_zero(ctx_);
  }

  int iterations_of_level(int l) const override { return options_.iterations_of_level(l); }

  void descend(const std::vector<ImagePair>& channels, LevelRecord& level,
               Observer& observer) override {
    FluidLevel now(ctx_, channels[0].fixed.geometry(), options_, similarity_->measure(), state_);
    if (!ctx_.rehearses()) now.run(level, observer);
  }

  void finish(RegistrationResult& result, const StopRequest& stop) override {
    result.displacement = compose(ctx_, state_.u, state_.base);
    state_ = {};
    result.unfolding = unfold(ctx_, result.displacement, {}, stop);
  }

  const char* mend_of_folds() const override {
    return "raise FluidOptions::sigma_update or FluidOptions::kl, or lower FluidOptions::step";
  }

  bool gained(const std::vector<LevelRecord>& levels) const override {
    return any_level_gained(levels);
  }

  const FluidOptions& options_;
  FluidState state_;
};

}  // namespace

RegistrationResult register_fluid(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                  const FluidOptions& options, Observer* observer) {
  options.validate();
  return FluidRun(ctx, fixed, moving, options).run(observer);
}

RegistrationResult register_fluid(Context& ctx, const Volume<float>& fixed,
                                  const Volume<float>& moving, const FluidOptions& options,
                                  const Masks& masks, Observer* observer) {
  options.validate();
  return with_prepared(fixed, moving, masks, [&](PreparedImage& f, PreparedImage& m) {
    return register_fluid(ctx, f, m, options, observer);
  });
}

}  // namespace freeflow
