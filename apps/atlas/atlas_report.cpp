#include <apps/atlas/atlas_report.h>

#include <algorithm>

#include <apps/closing_words.h>
#include <apps/field_names.h>
#include <apps/html.h>
#include <apps/report_parts.h>

namespace freeflow::apps {

using nlohmann::ordered_json;

namespace {

ordered_json rounds_json(const AtlasResult& atlas) {
  ordered_json rounds = ordered_json::array();
  for (const AtlasRound& r : atlas.rounds)
    rounds.push_back({{"resolution", r.resolution + 1},
                      {"round", r.round + 1},
                      {"grid", {r.grid.extent.x, r.grid.extent.y, r.grid.extent.z}},
                      {"mean_deformation_mm", r.drift_mm},
                      {"change_mm", r.change_mm},
                      {"change_voxels", r.change_voxels},
                      {"subjects_deformation_mm", r.deformation_mm},
                      {"sharpness_per_mm", r.sharpness},
                      {"seconds", r.seconds}});
  return rounds;
}

ordered_json members_json(const AtlasReport& in) {
  ordered_json members = ordered_json::array();
  for (std::size_t i = 0; i < in.atlas.members.size(); ++i) {
    const AtlasMember& m = in.atlas.members[i];
    ordered_json matrix = ordered_json::array();
    for (int row = 0; row < 3; ++row) {
      const Eigen::Matrix4d& a = m.affine.matrix();
      matrix.push_back({a(row, 0), a(row, 1), a(row, 2), a(row, 3)});
    }
    ordered_json entry{{"name", m.name}, {"content", m.content.text()}};
    if (!m.failure.empty()) {  // it has no figures
      entry["left_out"] = translated(m.failure);
      members.push_back(entry);
      continue;
    }
    entry["template_to_subject_affine_lps"] = matrix;
    entry["affine_distance_mm"] = m.affine_distance_mm;
    entry["outside_affine_mean"] = m.outside_affine_mean;
    entry["correlation"] = m.correlation;
    entry["deformation_mm"] = m.deformation_mm;
    entry["outlier_score"] = m.outlier_score;
    if (in.labels && in.labels->dice[i] >= 0) entry["mean_dice_with_majority"] = in.labels->dice[i];
    members.push_back(entry);
  }
  return members;
}

ordered_json seconds_json(const AtlasTimings& seconds) {
  return {{"reading", seconds.reading},
          {"building", seconds.building},
          {"labels", seconds.labels},
          {"writing", seconds.writing}};
}

}  // namespace

std::string closing_words(const AtlasReport& in, const std::string& files) {
  std::vector<const AtlasMember*> present;
  for (const AtlasMember& m : in.atlas.members)
    if (m.failure.empty()) present.push_back(&m);
  const AtlasMember& least = **std::ranges::min_element(present, {}, &AtlasMember::correlation);
  const AtlasRound& last = in.atlas.rounds.back();
  const int digits = length_digits(last.grid.spacing.minCoeff(), 2);
  std::string change;
  if (in.atlas.rounds.size() > 1)
    change = ", " + fixed_digits(last.change_voxels) + " voxel other than in the one before";
  ordered_json seconds = seconds_json(in.seconds);
  if (in.seconds.transforms > 0) seconds["transforms"] = in.seconds.transforms;
  return "atlas: the template of " + std::to_string(present.size()) + " subjects, by " +
         std::to_string(in.atlas.rounds.size()) +
         (in.atlas.rounds.size() == 1 ? " round" : " rounds") + ".\n  shape: moved by " +
         fixed_digits(last.drift_mm, digits) + " mm in the last round" + change +
         "\n  match: correlation " + fixed_digits(least.correlation) + " at least ('" + least.name +
         "')\n" + time_line(seconds) + written_line(files);
}

void write_atlas_report(const std::string& path, const Context& ctx, const AtlasReport& in) {
  ordered_json json;
  json["program"] = "atlas";
  json["version"] = FREEFLOW_VERSION;
  json["options"] = options_json(in.options);
  json["device"] = {{"name", ctx.device().name()},
                    {"description", ctx.device().description()},
                    {"threads", ctx.threads()},
                    {"processes", in.processes}};
  json["template"] = geometry_json(in.atlas.mask.geometry(), 0);
  json["intensities"] =
      "every channel of a subject is scaled linearly: its 0.1 % percentile to 0, the mean of its "
      "foreground to 100";
  json["sharpening"] = in.settings.sharpening > 0
                           ? "T + " + std::to_string(in.settings.sharpening) +
                                 " (T - G*T), G of one voxel, after every average"
                           : std::string("none");
  json["warnings"] = translated(in.warnings);
  json["rounds"] = rounds_json(in.atlas);
  json["stopped_because"] = in.atlas.stopped_because;
  json["members"] = members_json(in);
  if (in.labels) {
    ordered_json values = ordered_json::array();
    for (const std::uint64_t label : in.labels->values) values.push_back(std::int64_t(label));
    json["labels"] = {{"subjects", in.labels->subjects}, {"values", values}};
  }
  json["seconds"] = seconds_json(in.seconds);
  json["memory_bytes"] = {{"peak_host", peak_host_bytes()},
                          {"peak_device", ctx.statistics().peak_bytes},
                          {"predicted_device", in.predicted_bytes}};
  write_json(path, json);
}

}  // namespace freeflow::apps
