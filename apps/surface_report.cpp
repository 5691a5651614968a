#include <apps/surface_report.h>

#include <apps/report_parts.h>

namespace freeflow::apps {

namespace {

nlohmann::ordered_json topology_json(const Topology& t, const Geometry& g) {
  return {{"components", t.components},
          {"handles", t.handles()},
          {"cavities", t.cavities},
          {"euler_number", t.euler},
          {"touches_border", t.touches_border},
          {"volume_mm3", double(t.voxels) * g.spacing.prod()}};
}

}  // namespace

void write_surface_report(const std::string& path, const Context& ctx,
                          const SurfaceReportInput& in) {
  const NonlocalMeansResult& r = in.result;
  const Geometry& g = r.distance.geometry();
  nlohmann::ordered_json json;
  json["program"] = "nlmdenoise";
  json["version"] = FREEFLOW_VERSION;
  json["options"] = options_json(in.options);
  json["device"] = {{"name", ctx.device().name()},
                    {"description", ctx.device().description()},
                    {"threads", ctx.threads()}};
  json["input"] = geometry_json(g, in.input.nonfinite_voxels);
  json["input"]["kind"] = in.input.kind;
  json["notes"] = in.input.notes;
  json["warnings"] = in.input.warnings;
  json["band"] = {{"elements", r.band_elements}, {"half_width_mm", r.band_mm}, {"slabs", r.slabs}};
  json["noise_mm"] = r.noise_mm;
  json["c2"] = r.c2;
  json["time_step"] = r.time_step;
  json["change_mm"] = {{"mean", r.mean_change_mm}, {"max", r.max_change_mm}, {"shift", r.shift_mm}};
  json["held_voxels"] = r.held_voxels;
  json["inside"] = {{"before", topology_json(in.before, g)}, {"after", topology_json(in.after, g)}};
  json["seconds"] = {{"reading", in.reading_seconds},  {"denoising", in.denoising_seconds},
                     {"search", r.search_seconds},     {"iterations", r.iteration_seconds},
                     {"distance", r.distance_seconds}, {"writing", in.writing_seconds}};
  json["memory_bytes"] = {{"peak_host", peak_host_bytes()},
                          {"peak_device", ctx.statistics().peak_bytes},
                          {"predicted_device", r.predicted_bytes}};
  write_json(path, json);
}

}  // namespace freeflow::apps
