#include <chrono>
#include <cmath>

#include <freeflow/atlas/builder.h>
#include <freeflow/deform/field_algebra.h>
#include <freeflow/deform/warp.h>

namespace freeflow {

namespace {

constexpr double largest_displacement_voxels = 4096;

/// The options for voxels 2^coarser as large: without the finest levels.
template <class Options>
Options without_finest(Options o, int coarser) {
  std::vector<int> iterations;
  iterations.reserve(std::size_t(o.levels));
  for (int l = 0; l < o.levels - coarser; ++l) iterations.push_back(o.iterations_of_level(l));
  o.levels -= coarser;
  o.iterations = iterations;
  if constexpr (requires { o.sigma_field; })
    if (o.sigma_field.size() > 1) o.sigma_field.resize(std::size_t(o.levels));
  return o;
}

void start_from(LevelOptions& o, const DisplacementField& field) {
  o.initial_displacement = &field;
}
template <class Options>
requires requires(Options o) { o.initial_velocity; }
void start_from(Options& o, const DisplacementField& field, bool of_velocity) {
  if (of_velocity)
    o.initial_velocity = &field;
  else
    o.initial_displacement = &field;
}

}  // namespace

NonrigidModel TemplateBuilder::model_of(const Position& p, std::size_t k,
                                        const DisplacementField& start) const {
  return std::visit(
      [&](const auto& full) -> NonrigidModel {
        auto o = without_finest(full, resolutions() - 1 - p.resolution);
        o.initial = affines_[cohort_.own()[k].card];
        o.with_inverse = false;
        if (start.geometry().extent.count() == 0) return o;
        // What coarse levels would find, the start has.
        o.first_level = o.levels - 1;
        o.iterations.back() = iterations_going_on(o.iterations.back());
        if constexpr (requires { o.initial_velocity; })
          start_from(o, start, of_velocities_);
        else
          start_from(o, start);
        return o;
      },
      options_.model);
}

/// On the grid of the round that found it; empty before the first.
DisplacementField TemplateBuilder::deformation(std::size_t k) {
  if (!found_[k]) return {};
  const DisplacementField u = unpack(ctx_, found_[k]->field);
  return of_velocities_ ? add(ctx_, u, update_) : compose(ctx_, update_, u);
}

/// What was found goes to found_[k], and to disk.
DisplacementField TemplateBuilder::registered(const Position& p, PreparedImage& fixed,
                                              std::size_t k, AtlasRound& round) {
  const ContentKey key = state_key(p, cohort_.own()[k].card);
  std::optional<std::vector<std::byte>> kept;
  if (state_) kept = state_->read(key);
  if (kept) {
    found_[k] = std::make_shared<const SubjectState>(subject_state(*kept, grid_.space_code));
    if (!found_[k]->failure.empty()) throw RegistrationError(found_[k]->failure);
    return unpack(ctx_, found_[k]->field);
  }
  ++round.registered;
  SubjectState state;
  DisplacementField u;
  try {
    DeviceSubject loaded = load(ctx_, cohort_.own()[k].subject, spacing_of(p.resolution));
    PreparedImage moving(std::move(loaded.channels), std::move(loaded.mask), "the subject");
    const DisplacementField start = deformation(k);
    const RegistrationOptions options{model_of(p, k, start), {}, StartKind::none, {}, true};
    StopObserver stop([this] { return observer_.stop_requested(); });
    RegistrationResult found = register_images(ctx_, fixed, moving, options, &stop);
    u = std::move(of_velocities_ ? found.velocity : found.displacement);
    state.field = pack_and_round(ctx_, u);
  } catch (const RegistrationError& e) {
    state.failure = e.what();
  }
  const auto shared = std::make_shared<const SubjectState>(std::move(state));
  found_[k] = shared;
  // failures that end the work are tried again
  if (state_ && (shared->failure.empty() || options_.keep_going))
    state_->write(key, [shared] { return to_bytes(*shared); });
  if (!shared->failure.empty()) throw RegistrationError(shared->failure);
  return u;
}

TemplateBuilder::Position TemplateBuilder::run_round(const Position& p) {
  const auto begin = std::chrono::steady_clock::now();
  AtlasRound round;
  round.resolution = p.resolution;
  round.resolutions = resolutions();
  round.round = p.round;
  round.grid = grid_of(p.resolution);
  std::vector<Volume<float>> channels;
  for (const Volume<float>& channel : template_.channels) channels.push_back(channel.lend());
  std::vector<double> lengths(cohort_.own().size());
  {
    PreparedImage fixed(std::move(channels),
                        cohort_.has_masks() ? template_.mask.lend() : Volume<float>(),
                        "the template");
    ExactMean<DisplacementField> sum(ctx_, round.grid, largest_displacement_voxels);
    const auto work = [&](std::size_t k) {
      const int before = round.registered;
      const DisplacementField u = registered(p, fixed, k, round);
      sum.add(ctx_, u);
      lengths[k] = mean_length_mm(ctx_, u, &template_.mask);
      return before == round.registered;
    };
    cohort_.exclude(failures_of_own(AtlasStage::rounds, int(result_.rounds.size()), work));
    sum_over(ranks_, ctx_, sum);
    measure_change(sum.mean(ctx_), round);
  }
  double total = 0;
  for (const double length : of_all(lengths)) total += length;
  round.deformation_mm = total / double(cohort_.present());
  const int next = next_resolution(p, round.change_voxels);
  const Position to = after(p, next);
  update_ = update_of(mean_);
  average(averaged_for(to.resolution));
  describe_template(round);
  round.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  keep_round(p, next, round);
  forget_states_before(p);
  result_.rounds.push_back(round);
  observer_.on_round(round);
  return to;
}

void TemplateBuilder::measure_change(DisplacementField mean, AtlasRound& round) {
  const auto length = [&](const DisplacementField& u) {
    return mean_length_mm(ctx_, u, &template_.mask);
  };
  round.drift_mm = round.change_mm = length(mean);
  if (!result_.rounds.empty())
    round.change_mm =
        length(linear_combination(ctx_, 1, mean, -1, resample(ctx_, mean_, mean.geometry())));
  round.change_voxels = round.change_mm / round.grid.spacing.minCoeff();
  mean_ = std::move(mean);
}

DisplacementField TemplateBuilder::update_of(const DisplacementField& mean) {
  if (of_velocities_) return scale(ctx_, -options_.shape_step, mean);
  return invert(ctx_, scale(ctx_, options_.shape_step, mean)).field;
}

DeviceSubject TemplateBuilder::sampled(std::size_t k, const Geometry& grid, int resolution) {
  const Cohort::Own& own = cohort_.own()[k];
  DisplacementField u = deformation(k);
  if (found_[k]) {
    if (of_velocities_) u = exponential(ctx_, u);
    if (!same_grid(u.geometry(), grid)) u = resample(ctx_, u, grid);
  }
  const DisplacementField* const moved = found_[k] ? &u : nullptr;
  const DeviceSubject loaded = load(ctx_, own.subject, spacing_of(resolution));
  DeviceSubject on_grid;
  for (const Volume<float>& channel : loaded.channels)
    on_grid.channels.push_back(
        warp(ctx_, channel, grid, affines_[own.card], moved, options_.interpolation, NAN));
  if (!loaded.mask.empty())
    on_grid.mask =
        warp(ctx_, loaded.mask, grid, affines_[own.card], moved, Interpolation::linear, 0);
  return on_grid;
}

void TemplateBuilder::average(int resolution) {
  const Geometry grid = grid_of(resolution);
  TemplateAverage sum(ctx_, grid, cohort_.channels(), cohort_.has_masks(), options_);
  for (std::size_t k = 0; k < cohort_.own().size(); ++k) {
    if (!cohort_.is_present(cohort_.own()[k].card)) continue;
    if (observer_.stop_requested()) throw Cancelled{};
    const DeviceSubject on_grid = sampled(k, grid, resolution);
    sum.add(ctx_, on_grid.channels, on_grid.mask);
  }
  template_ = sum.result(ctx_, ranks_);
}

void TemplateBuilder::describe_template(AtlasRound& round) {
  const Geometry& grid = template_.mask.geometry();
  const std::vector<float> image = template_.channels[0].to_host(ctx_);
  round.sharpness = sharpness_of(image, template_.mask.to_host(ctx_), grid);
  round.width = grid.extent.x;
  round.height = grid.extent.y;
  round.pixel_mm = {grid.spacing.x(), grid.spacing.y()};
  const std::size_t plane = std::size_t(round.width) * std::size_t(round.height);
  const auto begin = image.begin() + std::ptrdiff_t(plane * std::size_t(grid.extent.z / 2));
  round.picture.assign(begin, begin + std::ptrdiff_t(plane));
}

void TemplateBuilder::judge() {
  const Geometry& grid = template_.mask.geometry();
  const std::vector<float> image = template_.channels[0].to_host(ctx_),
                           mask = template_.mask.to_host(ctx_);
  const std::size_t own = cohort_.own().size();
  std::vector<double> correlation(own), length(own);
  for (std::size_t k = 0; k < own; ++k) {
    if (!cohort_.is_present(cohort_.own()[k].card)) continue;
    const DeviceSubject on_grid = sampled(k, grid, resolutions() - 1);
    correlation[k] = correlation_of(image, on_grid.channels[0].to_host(ctx_), mask);
    const DisplacementField u = deformation(k);
    length[k] = mean_length_mm(ctx_, u, same_grid(u.geometry(), grid) ? &template_.mask : nullptr);
  }
  const std::vector<double> correlations = of_all(correlation), lengths = of_all(length);
  std::vector<double> present, spread;
  for (std::size_t i = 0; i < correlations.size(); ++i)
    if (cohort_.is_present(i)) present.push_back(correlations[i]);
  const double middle = median(present);
  for (const double c : present) spread.push_back(std::abs(c - middle));
  const double deviation = std::max(1.4826 * median(spread), 1e-6);
  for (std::size_t i = 0; i < correlations.size(); ++i) {
    const SubjectCard& card = cohort_.cards()[i];
    AtlasMember member{card.name,        card.content,     affines_[i],
                       distances_mm_[i], outside_mean_[i], card.failure,
                       correlations[i],  lengths[i],       0};
    if (cohort_.is_present(i)) member.outlier_score = (middle - correlations[i]) / deviation;
    result_.members.push_back(std::move(member));
  }
}

}  // namespace freeflow
