#include <freeflow/registration/flow/stepwise_flow.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/row_cells.h>
#include <freeflow/deform/warp.h>
#include <freeflow/registration/flow/flow_direction.h>
#include <freeflow/registration/flow/pace.h>
#include <freeflow/registration/flow/running_mean.h>
#include <freeflow/registration/flow/stepwise_flow_body.h>
#include <freeflow/registration/flow/velocity.h>
#include <freeflow/registration/levels/level_loop.h>
#include <freeflow/regularize/field_diffusion.h>

namespace freeflow {

template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const FlowComposeBody& body) {
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    const FlowComposeBody local = body;
    const std::size_t first = extent.offset(x, y, z), plane = extent.count();
    float d[3][RowCells::longest];
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) {
      float at[3];
      local.motion.at(first + i, at);
      for (int c = 0; c < 3; ++c) d[c][i] = at[c];
    }
    RowCells cells;
    cells.locate(extent, n, [&](int i) {
      return Vec3f{float(x + i) + d[0][i], float(y) + d[1][i], float(z) + d[2][i]};
    });
    for (int c = 0; c < 3; ++c) {
      float* const out = local.out.data + c * plane + first;
      cells.fetch(local.u.data + c * plane);
#pragma GCC ivdep
      for (int i = 0; i < n; ++i) out[i] = d[c][i] + cells.clamped(i);
    }
  });
}

namespace {

constexpr double usual_speed = 0.3;  // root mean square of the speeds, in steps

/// What a step is measured by: the side of a voxel's smallest face. A slab's voxels stay thin on
/// coarse levels, whose steps its thinnest side would hold back.
double step_side(const Geometry& grid) {
  const Eigen::Vector3d& side = grid.spacing;
  return std::sqrt(std::min({side[0] * side[1], side[1] * side[2], side[2] * side[0]}));
}

/// One registration: what its levels share.
class StepwiseRun : public LevelLoop {
 public:
  StepwiseRun(Context& ctx, PreparedImage& fixed, PreparedImage& moving, const StepOptions& options,
              const StepwiseSettings& settings)
      : LevelLoop(ctx, fixed, moving, options), options_(options), settings_(settings),
        stride_(2 + int(options.penalties.size())),
        weights_(options.similarity.weights_of(fixed.channels())) {
    if (settings.initial_velocity) require_on_device(ctx, *settings.initial_velocity);
  }

 private:
  void enter_level(int l, const Geometry& grid) override {
    const DisplacementField* start =
        settings_.initial_velocity ? settings_.initial_velocity : options_.initial_displacement;
    if (l > options_.first_level) {
      state_ = resample(ctx_, state_, grid);
    } else if (start) {
      state_ = resample(ctx_, *start, grid);
    } else {
      state_ = DisplacementField(ctx_, grid);
      state_.fill_zero(ctx_);
    }
  }

  int iterations_of_level(int l) const override { return options_.iterations_of_level(l); }

  void descend(const std::vector<ImagePair>& channels, LevelRecord& level,
               Observer& observer) override {
    std::vector<DemonsChannel> of_demons;
    for (std::size_t c = 0; c < ranges_.size(); ++c)
      of_demons.emplace_back(weights_[c], ranges_[c].fixed, ranges_[c].moving);
    const DirectionTerms terms{settings_.demons_updates, settings_.of_thirion, settings_.kl,
                               settings_.force_kernel,   options_.penalties,   of_demons};
    SimilarityMeasure& measure = similarity_->measure();
    if (!settings_.symmetric) {
      FlowDirection forth(ctx_, channels, measure, terms, settings_.log_domain ? 1 : 0);
      return iterate(forth, nullptr, level, observer);
    }
    std::vector<Volume<float>> moving;
    moving.reserve(channels.size());
    for (const ImagePair& pair : channels) moving.push_back(on_fixed_grid(pair));
    std::vector<ImagePair> swapped;
    for (std::size_t c = 0; c < channels.size(); ++c)
      swapped.push_back({moving[c], channels[c].fixed, PointMap{}});
    ChannelMeasure backwards = measure_of(level.level, true);
    backwards.prepare(ctx_, swapped);
    FlowDirection forth(ctx_, channels, measure, terms, 1),
        back(ctx_, swapped, backwards.measure(), terms, -1);
    iterate(forth, &back, level, observer);
  }

  /// The moving image through the linear map alone; itself where that changes nothing.
  Volume<float> on_fixed_grid(const ImagePair& images) {
    const Geometry& grid = images.fixed.geometry();
    if (images.fixed_to_moving == PointMap{} && grid.extent == images.moving.extent())
      return images.moving.lend();
    Volume<float> moving(ctx_, grid);
    warp_values(ctx_, images.moving.view(), images.fixed_to_moving, {nullptr, grid.extent},
                moving.view());
    return moving;
  }

  /// What smooths the field takes out what its grid cannot hold, so its voxels are those of each
  /// axis. (The update's are the smallest side on all axes: a force spreads through tissue, not
  /// through voxels.)
  Eigen::Vector3d field_sigma(int level, const Geometry& grid) const {
    if (settings_.diffuses) return Eigen::Vector3d::Zero();
    const Sigma sigma = settings_.sigma_field.of_level(level);
    return sigma.in_mm ? in_voxels(sigma, grid) : Eigen::Vector3d::Constant(sigma.value);
  }

  void iterate(FlowDirection& forth, FlowDirection* back, LevelRecord& level, Observer& observer) {
    const Geometry& grid = state_.geometry();
    const std::size_t voxels = grid.extent.count();
    const double smallest = grid.spacing.minCoeff();
    const bool scaled = !settings_.demons_updates;
    const double step_mm = scaled ? step_side(grid) : smallest;
    const Velocity smooth(ctx_, grid, options_, settings_.velocity, settings_.viscosity);
    const GaussianFilter field_filter(ctx_, grid.extent, field_sigma(level.level, grid),
                                      options_.smoother);
    std::optional<FieldDiffusion> diffusion;
    if (settings_.diffuses) diffusion.emplace(ctx_, grid);
    std::optional<RunningMean> mean;
    if (settings_.averages) mean.emplace(ctx_, grid);
    DisplacementField force(ctx_, grid), velocity(ctx_, grid), force_back;
    if (back) force_back = DisplacementField(ctx_, grid);
    const ReduceWorkspace work(ctx_, voxels, 2);
    Buffer<double> terms(ctx_, 2 * std::size_t(stride_)), sums(ctx_, 2);
    terms.fill_zero(ctx_);
    const Buffer<float> scale(ctx_, 1);
    FlowVelocity moving{std::as_const(velocity).view(), {}};
    for (int c = 0; c < 3; ++c) moving.per_side[c] = float(smallest / grid.spacing[c]);
    level.penalty_names = penalty_names();
    if (ctx_.rehearses()) return;
    // The diffusion shrinks with the step, so a smaller one comes nearer to the same field; a
    // Gaussian stays as wide, so that smaller ones would lose what is gained.
    FlowPace pace = diffusion ? FlowPace(options_.step, options_.tolerance, 4, 5)
                              : FlowPace(options_.step, options_.tolerance, 1);
    double last_step = 0;
    for (int k = 0;; ++k) {
      const bool last = k == level.max_iterations;
      if (last && mean) mean->replace(state_);
      const FieldView<const float> state = std::as_const(state_).view();
      forth.evaluate(ctx_, state, pace.step(), force.view(), !last, terms.data());
      if (back)
        back->evaluate(ctx_, state, pace.step(), force_back.view(), !last, terms.data() + stride_);
      if (!last) {
        if (back)
          for_each_voxel(ctx_, grid.extent,
                         FlowDifferenceBody{force.view(), std::as_const(force_back).view()});
        smooth.from_force(ctx_, force.view(), velocity.view());
        if (scaled) reduce(ctx_, voxels, 2, FlowSpeedBody{{}, moving}, work, sums.data());
      }
      ++level.evaluations;
      const double cost = record(terms.to_host(ctx_), k, last_step * step_mm,
                                 level);  // the one wait of an iteration
      observer.on_iteration(level);
      if (observer.stop_requested()) throw Cancelled{};
      level.stopped_because = last ? "reached the number of iterations" : "converged";
      if (last) return;
      if (!pace.goes_on(cost)) {
        if (mean) mean->replace(state_);
        return;
      }
      last_step = pace.step();
      const double step_sides = last_step * (step_mm / smallest);
      for_each_voxel(
          ctx_, Extent{1, 1, 1},
          FlowScaleBody{scaled ? sums.data() : nullptr, usual_speed * step_sides, scale.data()});
      move({moving, scale.data(), scaled ? float(1 / step_sides) : 0.0f}, force);
      if (diffusion)
        diffusion->apply(ctx_, force.view(), state_.view(), last_step / options_.step);
      else if (field_filter.smooths())
        field_filter.apply(ctx_, force.view(), state_.view());
      else
        std::swap(state_, force);
      if (mean && (pace.idles() || k >= RunningMean::first_of(level.max_iterations)))
        mean->add(ctx_, std::as_const(state_).view());
      else if (mean)
        mean->restart();
    }
  }

  /// The moved state, in `out`.
  void move(const FlowMotion& motion, DisplacementField& out) {
    const FieldView<const float> state = std::as_const(state_).view();
    if (settings_.composes && !settings_.log_domain)
      for_each_voxel(ctx_, out.extent(), FlowComposeBody{motion, state, out.view()});
    else
      for_each_voxel(ctx_, out.extent(), FlowAddBody{motion, state, out.view()});
  }

  std::vector<std::string> penalty_names() const {
    std::vector<std::string> names;
    if (settings_.kl > 0) names.push_back("symmetric_kl");
    for (const PenaltyTerm& p : options_.penalties) names.push_back(p.name);
    return names;
  }

  /// terms: measure, unbiased term and penalties forth, the same back. Returns the cost: the mean
  /// of the directions'.
  double record(const std::vector<double>& terms, int k, double step_mm, LevelRecord& level) const {
    std::vector<double> mean(terms.begin(), terms.begin() + stride_);
    for (int t = 0; t < stride_; ++t)
      mean[t] = (settings_.symmetric ? 0.5 : 1.0) *
                (mean[t] + terms[std::size_t(stride_) + std::size_t(t)]);
    const double similarity = mean[0], kl = mean[1];
    if (!std::isfinite(similarity))
      throw RegistrationError(
          "the images lost their overlap; start nearer, or take a larger "
          "StepOptions::sigma_update");
    if (std::isnan(kl))
      throw RegistrationError(
          "a Jacobian fell below 0.05, where the Kullback-Leibler term runs away; take a smaller "
          "step, or a fluid");
    const double cost =
        similarity + settings_.kl * kl + weighted_sum(options_.penalties, mean.data() + 2);
    level.iterations.push_back({k, cost, similarity, {}, step_mm});
    level.iterations.back().penalties.assign(mean.begin() + (settings_.kl > 0 ? 1 : 2), mean.end());
    return cost;
  }

  void finish(RegistrationResult& result, const StopRequest& stop) override {
    if (settings_.log_domain) {
      result.displacement = exponential(ctx_, state_);
      result.velocity = std::move(state_);
    } else {
      result.displacement = std::move(state_);
    }
    result.unfolding = unfold(ctx_, result.displacement, {}, stop);
  }

  bool symmetric() const override { return settings_.symmetric; }

  const char* mend_of_folds() const override { return settings_.mend_of_folds; }

  bool gained(const std::vector<LevelRecord>& levels) const override {
    return any_level_gained(levels);
  }

  const StepOptions& options_;
  const StepwiseSettings& settings_;
  const int stride_;                   // terms of a direction
  DisplacementField state_;            // u, or the velocity whose exponential it is
  const std::vector<double> weights_;  // of the channels
};

}  // namespace

RegistrationResult run_stepwise_flow(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                     const StepOptions& options, const StepwiseSettings& settings,
                                     Observer* observer) {
  return StepwiseRun(ctx, fixed, moving, options, settings).run(observer);
}

}  // namespace freeflow
