#include <freeflow/atlas/atlas.h>

#include <cmath>

#include <freeflow/atlas/builder.h>
#include <freeflow/deform/field_operations.h>

namespace freeflow {

namespace {

constexpr int most_resolutions = 5;

template <class Options>
bool keeps_velocity(const Options&) {
  return false;
}
template <>
bool keeps_velocity(const FlowOptions& o) {
  return o.symmetric;
}
template <>
bool keeps_velocity(const DemonsOptions& o) {
  return o.kind == DemonsKind::log;
}

}  // namespace

std::optional<AtlasStatistic> parse_atlas_statistic(std::string_view name) {
  if (name == "mean") return AtlasStatistic::mean;
  if (name == "median") return AtlasStatistic::median;
  if (name == "trimmed") return AtlasStatistic::trimmed;
  return {};
}

void AtlasOptions::validate() const {
  const RegistrationOptions registration{model, {}, StartKind::none, {}, true};
  registration.validate();
  const int levels = registration.levels().levels;
  require(!rounds.empty() && int(rounds.size()) <= most_resolutions && int(rounds.size()) <= levels,
          "AtlasOptions::rounds takes a number for one resolution up to five, and no more numbers "
          "than LevelOptions::levels says: give both");
  for (const int n : rounds)
    require(n >= 1 && n <= 100, "AtlasOptions::rounds must lie between 1 and 100");
  require(enough_voxels >= 0 && enough_voxels < 10,
          "AtlasOptions::enough_voxels must lie between 0 and 10");
  require(shape_step >= 0 && shape_step <= 1, "AtlasOptions::shape_step must lie between 0 and 1");
  require(trim >= 0 && trim < 0.5, "AtlasOptions::trim must lie between 0 and 0.5");
  require(sharpening >= 0 && sharpening <= 5, "AtlasOptions::sharpening must lie between 0 and 5");
}

TemplateBuilder::TemplateBuilder(Context& ctx, std::vector<AtlasSubject> subjects,
                                 const AtlasOptions& options, const AtlasSurroundings& around)
    : ctx_(ctx), options_(options), ranks_(around.ranks ? *around.ranks : one_process_),
      state_(around.state), observer_(around.observer ? *around.observer : no_observer_),
      cohort_(std::move(subjects), ranks_, options.keep_going, ctx.threads()),
      of_velocities_(std::visit([](const auto& o) { return keeps_velocity(o); }, options.model)) {
  const std::size_t all = cohort_.cards().size();
  affines_.assign(all, Eigen::Affine3d::Identity());
  distances_mm_.assign(all, 0);
  outside_mean_.assign(all, false);
  found_.resize(cohort_.own().size());
  result_.warnings = cohort_.warnings();
}

AtlasResult TemplateBuilder::build() {
  find_affines();
  Position position = resume({0, 0, key_});
  if (result_.rounds.empty()) average(0);
  while (position.resolution < resolutions()) position = run_round(position);
  result_.stopped_because =
      result_.rounds.back().change_voxels < options_.enough_voxels ? "converged" : "rounds";
  judge();
  for (std::size_t k = 0; k < cohort_.own().size(); ++k)
    if (cohort_.is_present(cohort_.own()[k].card))
      result_.own.push_back({cohort_.own()[k].card, pack(ctx_, deformation(k))});
  result_.of_velocities = of_velocities_;
  result_.channels = std::move(template_.channels);
  result_.mask = std::move(template_.mask);
  return std::move(result_);
}

std::vector<std::string> TemplateBuilder::failures_of_own(
    AtlasStage stage, int round, const std::function<bool(std::size_t k)>& work_says_resumed) {
  std::vector<std::string> failures(cohort_.cards().size());
  const std::vector<Cohort::Own>& own = cohort_.own();
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (!cohort_.is_present(own[k].card)) continue;
    if (observer_.stop_requested()) throw Cancelled{};
    bool resumed = false;
    try {
      resumed = work_says_resumed(k);
    } catch (const RegistrationError& e) {
      failures[own[k].card] = named(k, e.what());
    }
    observer_.on_subject(stage, round, k + 1, own.size(), resumed);
  }
  return failures;
}

std::vector<double> TemplateBuilder::of_all(const std::vector<double>& own) {
  std::vector<std::int64_t> words(cohort_.cards().size());
  for (std::size_t k = 0; k < own.size(); ++k)
    words[cohort_.own()[k].card] = std::bit_cast<std::int64_t>(own[k]);
  ranks_.sum(words);
  std::vector<double> all;
  all.reserve(words.size());
  for (const std::int64_t word : words) all.push_back(std::bit_cast<double>(word));
  return all;
}

Transform member_transform(Context& ctx, const AtlasResult& result, const AtlasResult::Own& own) {
  const Eigen::Affine3d& affine = result.members[own.member].affine;
  if (own.field.empty()) return Transform(affine);
  DisplacementField u = unpack(ctx, own.field);
  return Transform(result.of_velocities ? exponential(ctx, u) : std::move(u), affine);
}

AtlasResult build_atlas(Context& ctx, std::vector<AtlasSubject> subjects,
                        const AtlasOptions& options, const AtlasSurroundings& around) {
  options.validate();
  return TemplateBuilder(ctx, std::move(subjects), options, around).build();
}

KeptWork kept_work(Context& ctx, std::vector<AtlasSubject> subjects, const AtlasOptions& options,
                   const AtlasSurroundings& around) {
  options.validate();
  return TemplateBuilder(ctx, std::move(subjects), options, around).kept();
}

std::size_t predict_atlas_bytes(const Context& ctx, const Geometry& grid, const Geometry& subject,
                                const AtlasOptions& options, std::size_t channels,
                                bool with_masks) {
  options.validate();
  const DisplacementField some;
  NonrigidModel started = options.model;
  std::visit(
      [&](auto& o) {
        if constexpr (requires { o.initial_velocity; })
          if (keeps_velocity(o)) o.initial_velocity = &some;
      },
      started);
  const std::size_t registration =
      predict_bytes(ctx, {grid, subject, with_masks, with_masks, grid, channels},
                    {started, {}, StartKind::none, {}});
  // Beside it: the sum of deformations, the last mean and its inverse, and what is packed; while
  // averaging less.
  constexpr std::size_t sum_of_fields = 32, means = 24, packed = 6, sum_of_images = 16;
  return registration +
         grid.extent.count() * (std::max(sum_of_fields, channels * sum_of_images) + means + packed);
}

}  // namespace freeflow
