#include <freeflow/registration/register_images.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <freeflow/registration/levels/pyramid.h>
#include <freeflow/registration/levels/with_prepared.h>

namespace freeflow {

namespace {

RegistrationResult run_model(Context& ctx, PreparedImage& f, PreparedImage& m, const FlowOptions& o,
                             Observer* observer) {
  return register_flow(ctx, f, m, o, observer);
}
RegistrationResult run_model(Context& ctx, PreparedImage& f, PreparedImage& m, const FfdOptions& o,
                             Observer* observer) {
  return register_ffd(ctx, f, m, o, observer);
}
RegistrationResult run_model(Context& ctx, PreparedImage& f, PreparedImage& m,
                             const FluidOptions& o, Observer* observer) {
  return register_fluid(ctx, f, m, o, observer);
}
RegistrationResult run_model(Context& ctx, PreparedImage& f, PreparedImage& m,
                             const DemonsOptions& o, Observer* observer) {
  return register_demons(ctx, f, m, o, observer);
}

const DisplacementField* initial_velocity(const LevelOptions&) { return nullptr; }
const DisplacementField* initial_velocity(const FlowOptions& o) { return o.initial_velocity; }
const DisplacementField* initial_velocity(const DemonsOptions& o) { return o.initial_velocity; }

/// Whether the state is a velocity, which no displacement starts.
bool keeps_velocity(const LevelOptions&) { return false; }
bool keeps_velocity(const FlowOptions& o) { return o.symmetric; }
bool keeps_velocity(const DemonsOptions& o) { return o.kind == DemonsKind::log; }

bool wants_control_points(const LevelOptions&) { return false; }
bool wants_control_points(const FfdOptions& o) { return o.with_control_points; }

/// What the nonrigid model works on: the fixed image's content, unless the whole grid is asked for,
/// by a start that is to be kept, or the velocity or spline is a result.
template <class Model>
PreparedImage& worked_on(Context& ctx, PreparedImage& fixed, const Model& given) {
  const bool whole = given.initial_displacement || initial_velocity(given) ||
                     keeps_velocity(given) || wants_control_points(given);
  return whole ? fixed : fixed.content(ctx);
}

int fewest_voxels(const Extent& n) { return std::min({n.x, n.y, n.z}); }

template <class Model>
std::optional<DiscreteStart> find_start(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                        const Model& model, const RegistrationOptions& options,
                                        Observer* observer) {
  if (options.start == StartKind::none || model.initial_displacement || initial_velocity(model))
    return {};
  if (keeps_velocity(model)) {
    StartRecord none;
    none.reason = "the model keeps a velocity, which no displacement starts";
    return DiscreteStart{{}, none};
  }
  if (options.start == StartKind::automatic &&
      fewest_voxels(fixed.geometry().extent) < fewest_voxels_of_start) {
    StartRecord none;
    none.reason = "the fixed image is too thin to search across";
    return DiscreteStart{{}, none};
  }
  if (observer) observer->on_stage(Stage::start);
  DiscreteStartOptions search = options.discrete_start;
  search.channel_weights = model.similarity.channel_weights;
  search.only_large = options.start == StartKind::automatic;
  DiscreteStart start = discrete_start(ctx, fixed, moving, model.initial, search, observer);
  if (options.start == StartKind::discrete && !start.record.taken) {
    start.record.taken = true;
    start.record.reason = "asked for, though " + start.record.reason;
  }
  return start;
}

/// Levels of larger voxels than the start's grid would find less than it has.
int first_level_of(const StartRecord& start, const Geometry& fixed, int levels) {
  const double merged = start.voxel_mm / fixed.spacing.minCoeff();
  const int enough = 1 + int(std::lround(std::log2(std::max(1.0, merged))));
  return std::max(0, levels - enough);
}

/// Where no level above the finest has voxels enough, self-similarity reaches across a third of the
/// object on them, so that what the finest level compares by serves all.
void leave_out_levels(const Geometry& worked_on, LevelOptions& model) {
  const int first = first_trusted_level(worked_on, model.levels);
  model.first_level = std::max(model.first_level, first);
  if (has_few_voxels(worked_on, first, model.levels))
    model.similarity = model.similarity.of_level(0);
}

/// A rehearsal runs all levels from the start: more than any other way takes.
void take_start(const Context& ctx, DiscreteStart& start, const Geometry& fixed,
                LevelOptions& model) {
  if (start.displacement.empty()) return;
  if (!ctx.rehearses() && !start.record.taken) {
    start.displacement = {};
    return;
  }
  model.initial_displacement = &start.displacement;
  if (!ctx.rehearses())
    model.first_level =
        std::max(model.first_level, first_level_of(start.record, fixed, model.levels));
}

/// Points the options to a field of a rehearsal, where they have one.
void set_start(LevelOptions& o, const DisplacementField* field) { o.initial_displacement = field; }
template <class Options>
requires requires(Options o) { o.initial_velocity; }
void set_start(Options& o, const DisplacementField* field) {
  const bool of_velocity = o.initial_velocity != nullptr;
  o.initial_velocity = of_velocity ? field : nullptr;
  o.initial_displacement = of_velocity ? nullptr : field;
}

/// The images, masks and start of a rehearsal: volumes that hold nothing.
struct Imaginary {
  Imaginary(Context& ctx, const RegistrationInputs& in)
      : fixed_kept(volumes(ctx, in.fixed, in.channels)),
        moving_kept(volumes(ctx, in.moving, in.channels)),
        fixed(given(fixed_kept, in.images_kept),
              in.fixed_mask ? Volume<float>(ctx, in.fixed) : Volume<float>(), "the fixed image"),
        moving(given(moving_kept, in.images_kept),
               in.moving_mask ? Volume<float>(ctx, in.moving) : Volume<float>(),
               "the moving image") {
    if (in.initial_displacement) start = DisplacementField(ctx, *in.initial_displacement);
  }
  static std::vector<Volume<float>> volumes(Context& ctx, const Geometry& grid, std::size_t n) {
    std::vector<Volume<float>> channels;
    for (std::size_t c = 0; c < n; ++c) channels.emplace_back(ctx, grid);
    return channels;
  }
  static std::vector<Volume<float>> given(std::vector<Volume<float>>& channels, bool kept) {
    if (!kept) return std::move(channels);
    std::vector<Volume<float>> lent;
    lent.reserve(channels.size());
    for (const Volume<float>& channel : channels) lent.push_back(channel.lend());
    return lent;
  }

  std::vector<Volume<float>> fixed_kept, moving_kept;
  PreparedImage fixed, moving;
  DisplacementField start;
};

/// For what a rehearsal cannot see: the granularity of a device's allocations.
std::size_t rounded_up(std::size_t bytes) { return bytes + bytes / 50 + (std::size_t(1) << 20); }

}  // namespace

const LevelOptions& RegistrationOptions::levels() const {
  return std::visit([](const auto& o) -> const LevelOptions& { return o; }, model);
}

void RegistrationOptions::validate() const {
  std::visit([](const auto& o) { o.validate(); }, model);
  discrete_start.validate();
  if (start != StartKind::discrete) return;
  std::visit(
      [](const auto& o) {
        require(!o.initial_displacement && !initial_velocity(o),
                "RegistrationOptions::start is discrete, but the registration starts from a "
                "displacement that is given: leave out one of them");
        require(!keeps_velocity(o),
                "RegistrationOptions::start cannot be discrete for symmetric flows and log-domain "
                "demons, which keep a velocity: take another model, or no start");
      },
      model);
}

RegistrationResult register_images(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                   const RegistrationOptions& options, Observer* observer) {
  options.validate();
  return std::visit(
      [&](auto nonrigid) {
        std::optional<LinearResult> linear;
        if (options.linear && !nonrigid.initial_displacement && !initial_velocity(nonrigid)) {
          LinearOptions first;
          first.similarity = linear_choice(nonrigid.similarity);
          first.model = *options.linear;
          first.initial = nonrigid.initial;
          first.keep_better_start = true;
          linear = register_linear(ctx, fixed, moving, first, observer);
          nonrigid.initial = linear->affine;
        }
        std::optional<DiscreteStart> start =
            find_start(ctx, fixed, moving, nonrigid, options, observer);
        PreparedImage& worked = worked_on(ctx, fixed, nonrigid);
        if (start) take_start(ctx, *start, fixed.geometry(), nonrigid);
        const bool every_level = options.every_level || nonrigid.iterations.size() > 1;
        if (!every_level && !ctx.rehearses()) leave_out_levels(worked.geometry(), nonrigid);
        RegistrationResult result = run_model(ctx, worked, moving, nonrigid, observer);
        if (linear) result.overlap_before = linear->overlap_before;
        result.linear = std::move(linear);
        if (start) result.start = std::move(start->record);
        return result;
      },
      options.model);
}

RegistrationResult register_images(Context& ctx, const Volume<float>& fixed,
                                   const Volume<float>& moving, const RegistrationOptions& options,
                                   const Masks& masks, Observer* observer) {
  options.validate();
  return with_prepared(fixed, moving, masks, [&](PreparedImage& f, PreparedImage& m) {
    return register_images(ctx, f, m, options, observer);
  });
}

RegistrationResult register_images(Context& ctx, std::span<const Volume<float>> fixed,
                                   std::span<const Volume<float>> moving,
                                   const RegistrationOptions& options, const Masks& masks,
                                   Observer* observer) {
  options.validate();
  return with_prepared(fixed, moving, masks, [&](PreparedImage& f, PreparedImage& m) {
    return register_images(ctx, f, m, options, observer);
  });
}

std::size_t predict_bytes(const Context& ctx, const RegistrationInputs& inputs,
                          const RegistrationOptions& options) {
  options.validate();
  Context rehearsal = ctx.rehearsal();
  Imaginary images(rehearsal, inputs);
  RegistrationOptions rehearsed = options;
  std::visit([&](auto& o) { set_start(o, inputs.initial_displacement ? &images.start : nullptr); },
             rehearsed.model);
  register_images(rehearsal, images.fixed, images.moving, rehearsed);
  return rounded_up(rehearsal.statistics().peak_bytes);
}

std::size_t predict_bytes(const Context& ctx, const RegistrationInputs& inputs,
                          const LinearOptions& options) {
  Context rehearsal = ctx.rehearsal();
  Imaginary images(rehearsal, inputs);
  register_linear(rehearsal, images.fixed, images.moving, options);
  return rounded_up(rehearsal.statistics().peak_bytes);
}

}  // namespace freeflow
