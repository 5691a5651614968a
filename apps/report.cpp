#include <apps/field_names.h>
#include <apps/program.h>
#include <apps/report.h>
#include <apps/report_page/verdict.h>
#include <apps/report_parts.h>

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include <freeflow/core/error.h>
#include <freeflow/io/write_error.h>

namespace po = boost::program_options;
using nlohmann::ordered_json;

namespace freeflow::apps {

std::string describe(const Geometry& g) {
  std::ostringstream text;
  text.precision(4);
  text << g.extent.x << 'x' << g.extent.y << 'x' << g.extent.z << " voxels of " << g.spacing.x()
       << 'x' << g.spacing.y() << 'x' << g.spacing.z() << " mm";
  return text.str();
}

std::string describe(const Inputs& inputs) {
  const std::size_t n = inputs.fixed.size();
  const std::string end = (n > 1 ? ", " + std::to_string(n) + " channels" : "") + "\n";
  return "fixed  " + describe(inputs.fixed_image().geometry) + end + "moving " +
         describe(inputs.moving_image().geometry) + end;
}

ordered_json options_json(const po::variables_map& options) {
  ordered_json json;
  for (const auto& [name, value] : options) {
    if (const auto* s = boost::any_cast<std::string>(&value.value())) json[name] = *s;
    if (const auto* l = boost::any_cast<std::vector<std::string>>(&value.value()))
      json[name] = l->size() == 1 ? ordered_json(l->front()) : ordered_json(*l);
    if (const auto* i = boost::any_cast<int>(&value.value())) json[name] = *i;
    if (const auto* d = boost::any_cast<double>(&value.value())) json[name] = *d;
    if (const auto* b = boost::any_cast<bool>(&value.value())) json[name] = *b;
  }
  return json;
}

ordered_json geometry_json(const Geometry& g, std::size_t nonfinite_voxels) {
  ordered_json direction = ordered_json::array();
  for (int row = 0; row < 3; ++row)
    direction.push_back({g.direction(row, 0), g.direction(row, 1), g.direction(row, 2)});
  return {{"size", {g.extent.x, g.extent.y, g.extent.z}},
          {"spacing_mm", {g.spacing.x(), g.spacing.y(), g.spacing.z()}},
          {"origin_mm_lps", {g.origin.x(), g.origin.y(), g.origin.z()}},
          {"direction_lps", direction},
          {"voxels_without_value", nonfinite_voxels}};
}

std::size_t peak_host_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::size_t(usage.ru_maxrss) * 1024;
}

void write_json(const std::string& path, const ordered_json& json) {
  std::ofstream file(path);
  if (!file) fail_writing(path, errno);
  file << json.dump(1, ' ', false, ordered_json::error_handler_t::replace)
       << '\n';  // paths need not be UTF-8
  file.close();
  if (!file) fail_cut_short(path);
}

namespace {

ordered_json level_json(const LevelRecord& level) {
  ordered_json iterations = ordered_json::array();
  for (const IterationRecord& i : level.iterations) {
    ordered_json entry{
        {"iteration", i.iteration}, {"cost", i.cost}, {"similarity_cost", i.similarity}};
    for (std::size_t p = 0; p < i.penalties.size(); ++p)
      entry[level.penalty_names[p]] = i.penalties[p];
    entry["step_mm"] = i.step_mm;
    iterations.push_back(entry);
  }
  ordered_json json{{"level", level.level + 1},
                    {"grid", {level.grid.x, level.grid.y, level.grid.z}},
                    {"seconds", level.seconds},
                    {"iterations_at_most", level.max_iterations}};
  json["evaluations"] = level.evaluations;
  if (level.regriddings > 0) json["regriddings"] = level.regriddings;
  json["stopped_because"] = level.stopped_because;
  json["iterations"] = iterations;
  return json;
}

ordered_json channels_json(const Inputs& inputs) {
  ordered_json channels = ordered_json::array();
  for (std::size_t c = 0; c < inputs.fixed.size(); ++c) {
    const InputImage &fixed = inputs.fixed[c], &moving = inputs.moving[c];
    channels.push_back({{"fixed", fixed.file},
                        {"moving", moving.file},
                        {"weight", inputs.weights[c]},
                        {"fixed_voxels_without_value", fixed.voxels.nonfinite_voxels},
                        {"moving_voxels_without_value", moving.voxels.nonfinite_voxels}});
  }
  return channels;
}

ordered_json similarity_json(const Similarities& s) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? ordered_json(*value) : ordered_json();
  };
  return {{"measure", "nmi"},
          {"before", or_null(s.before)},
          {"affine", or_null(s.affine)},
          {"after", or_null(s.after)}};
}

void add_measured(ordered_json& image, const InputImage& channel) {
  if (const auto& part = channel.intensities.measured)
    image["voxels_measured"] = part->extent().count();
}

/// Counted as registrations do it: above 0.5.
void add_mask(ordered_json& image, const std::optional<HostImage>& mask) {
  if (!mask) return;
  image["voxels_in_mask"] =
      std::ranges::count_if(mask->voxels, [](float value) { return value > 0.5F; });
}

/// Where not all do: some have no value, are padding, or lie beyond the mask or what was measured.
void add_counted(ordered_json& image, const InputImage& channel,
                 const std::optional<HostImage>& mask) {
  std::vector<float> own;
  const std::vector<float>* const flags = counted(channel, mask, own);
  if (!flags && channel.voxels.nonfinite_voxels == 0) return;
  const std::vector<float>& voxels = channel.voxels.voxels;
  std::size_t count = 0;
  for (std::size_t i = 0; i < voxels.size(); ++i)
    count += !std::isnan(voxels[i]) && (!flags || (*flags)[i] > 0.5F);
  if (count < voxels.size()) image["voxels_counted"] = count;
}

/// What every report opens with. The summary stands first, and is made in the end.
ordered_json opening(const Context& ctx, const ReportedRun& run,
                     const std::vector<std::string>& warnings,
                     const std::vector<LevelRecord>& levels) {
  ordered_json json;
  json["summary"] = ordered_json::object();
  json["program"] = run.program;
  json["version"] = FREEFLOW_VERSION;
  json["command"] = command_line();
  json["date"] = now_utc();
  json["inputs"] = inputs_json(run.common);
  json["outputs"] = outputs_json(run.names);
  json["options"] = options_json(run.options);
  json["device"] = {{"name", ctx.device().name()},
                    {"description", ctx.device().description()},
                    {"threads", ctx.threads()}};
  const HostImage &fixed = run.inputs.fixed_image(), &moving = run.inputs.moving_image();
  json["fixed"] = geometry_json(fixed.geometry, fixed.nonfinite_voxels);
  json["moving"] = geometry_json(moving.geometry, moving.nonfinite_voxels);
  add_measured(json["fixed"], run.inputs.fixed[0]);
  add_measured(json["moving"], run.inputs.moving[0]);
  add_mask(json["fixed"], run.inputs.fixed_mask);
  add_mask(json["moving"], run.inputs.moving_mask);
  add_counted(json["fixed"], run.inputs.fixed[0], run.inputs.fixed_mask);
  add_counted(json["moving"], run.inputs.moving[0], run.inputs.moving_mask);
  if (run.inputs.fixed.size() > 1) json["channels"] = channels_json(run.inputs);
  json["warnings"] = run.inputs.warnings;
  for (const std::string& warning : warnings) json["warnings"].push_back(translated(warning));
  json["levels"] = ordered_json::array();
  for (const LevelRecord& level : levels) json["levels"].push_back(level_json(level));
  json["memory_bytes"] = {{"peak_host", peak_host_bytes()},
                          {"peak_device", ctx.statistics().peak_bytes},
                          {"predicted_device", run.predicted_bytes}};
  json["similarity"] = similarity_json(run.similarity);
  return json;
}

void end(ordered_json& json) {
  json["summary"] = summary_json(verdict_of(json));
  iterations_last(json);
}

ordered_json vector_json(const Eigen::Vector3d& v) { return {v.x(), v.y(), v.z()}; }

ordered_json linear_json(const LinearResult& r) {
  ordered_json matrix = ordered_json::array();
  for (int row = 0; row < 3; ++row)
    matrix.push_back({r.affine.matrix()(row, 0), r.affine.matrix()(row, 1),
                      r.affine.matrix()(row, 2), r.affine.matrix()(row, 3)});
  return {{"fixed_to_moving_lps", matrix},
          {"center_mm_lps", vector_json(r.center)},
          {"rotation_degrees_xyz", vector_json(r.parts.euler_degrees())},
          {"translation_mm", vector_json(r.parts.translation)},
          {"scale", vector_json(r.parts.scale)},
          {"skew_xy_xz_yz", vector_json(r.parts.skew)},
          {"start_kept", r.start_kept},
          {"whole_images_first", r.whole_images_first},
          {"cost", {{"before", r.cost_before}, {"after", r.cost_after}}},
          {"overlap_fraction", {{"before", r.overlap_before}, {"after", r.overlap_after}}}};
}

}  // namespace

ordered_json report_of(const Context& ctx, const ReportedRun& run, const LinearResult& r) {
  ordered_json json = opening(ctx, run, r.warnings, r.levels);
  json["seconds"] = {{"reading", run.seconds.reading},
                     {"stripped", run.seconds.stripped},
                     {"linear", run.seconds.linear},
                     {"report", run.seconds.report},
                     {"writing", run.seconds.writing}};
  json["overlap_fraction"] = {{"before", r.overlap_before}, {"after", r.overlap_after}};
  json["linear"] = linear_json(r);
  end(json);
  return json;
}

ordered_json report_of(const Context& ctx, const ReportedRun& run, const RegistrationResult& r,
                       const DisplacementRange& range) {
  const std::size_t voxels = r.displacement.extent().count();
  ordered_json json = opening(ctx, run, r.warnings, r.levels);
  json["seconds"] = {
      {"reading", run.seconds.reading},   {"stripped", run.seconds.stripped},
      {"linear", run.seconds.linear},     {"start", r.start ? r.start->seconds : 0.0},
      {"nonrigid", run.seconds.nonrigid}, {"inverting", run.seconds.inverting},
      {"report", run.seconds.report},     {"writing", run.seconds.writing}};
  json["overlap_fraction"] = {{"before", r.overlap_before}, {"after", r.overlap_after}};
  if (r.linear) {
    json["linear"] = linear_json(*r.linear);
    for (const LevelRecord& level : r.linear->levels)
      json["linear"]["levels"].push_back(level_json(level));
    for (const std::string& warning : r.linear->warnings)
      json["warnings"].push_back(translated(warning));
  }
  if (r.start)
    json["start"] = {{"taken", r.start->taken},
                     {"reason", r.start->reason},
                     {"largest_displacement_mm", r.start->largest_mm},
                     {"root_mean_square_displacement_mm", r.start->root_mean_square_mm},
                     {"moving_parts_mm", r.start->moving_parts_mm},
                     {"object_mm", r.start->object_mm},
                     {"cost", {{"before", r.start->cost_before}, {"after", r.start->cost_after}}},
                     {"inconsistency_mm", r.start->inconsistency_mm},
                     {"seconds", r.start->seconds}};
  json["displacement_mm"] = {{"mean", range.mean_mm}, {"p99", range.p99_mm}, {"max", range.max_mm}};
  json["jacobian"] = {{"min", r.jacobian.min},
                      {"max", r.jacobian.max},
                      {"mean_log", r.jacobian.mean_log},
                      {"sd_log", r.jacobian.sd_log},
                      {"corner_min", r.jacobian.corner_min},
                      {"folded_voxels", r.jacobian.folded_voxels},
                      {"folded_percent", 100.0 * double(r.jacobian.folded_voxels) / double(voxels)},
                      {"below_bound_before_unfolding", r.unfolding.voxels_before},
                      {"below_bound_after_unfolding", r.unfolding.voxels_after},
                      {"unfolding_rounds", r.unfolding.rounds}};
  if (r.inverse) {
    json["inverse_residual_voxels"] = {{"mean", r.inverse->residual.mean_voxels},
                                       {"max", r.inverse->residual.max_voxels}};
    json["inverse_unfolding"] = {{"below_bound_before", r.inverse_unfolding.voxels_before},
                                 {"below_bound_after", r.inverse_unfolding.voxels_after},
                                 {"rounds", r.inverse_unfolding.rounds}};
  }
  end(json);
  return json;
}

}  // namespace freeflow::apps
