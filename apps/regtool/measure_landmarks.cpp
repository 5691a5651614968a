// regtool measure: landmarks of the fixed image against those of the moving one.
#include <apps/html.h>
#include <apps/regtool/measured.h>
#include <apps/regtool/point_table.h>
#include <freeflow/evaluation/landmark_error.h>
#include <freeflow/io/image_file.h>

using nlohmann::ordered_json;

namespace freeflow::apps {

namespace {

std::vector<Eigen::Vector3d> points_in_world(PointTable table, const std::string& image,
                                             std::vector<std::string>& warnings) {
  std::vector<Eigen::Vector3d>& points = table.points;
  if (table.frame == "ras")
    for (Eigen::Vector3d& p : points) p.head<2>() *= -1;
  if (table.frame == "voxel") {
    const Eigen::Affine3d to_world = read_geometry(image, warnings).index_to_world();
    for (Eigen::Vector3d& p : points) p = to_world * p;
  }
  return std::move(points);
}

}  // namespace

Measured measure_landmarks(Context& ctx, const MeasureOptions& o, const Transform& chain,
                           std::vector<std::string>& warnings) {
  const PointTable of_fixed = read_points(o.fixed_points, o.frame, true),
                   // --frame is of what does not say it: one of the two at least
      of_moving = read_points(o.moving_points, o.frame, of_fixed.frame == o.frame);
  const std::vector<Eigen::Vector3d> fixed = points_in_world(of_fixed, o.fixed, warnings),
                                     moving = points_in_world(of_moving, o.moving, warnings);
  require(fixed.size() == moving.size(),
          "'" + o.fixed_points + "' holds " + std::to_string(fixed.size()) + " points, '" +
              o.moving_points + "' " + std::to_string(moving.size()) +
              ": each needs its counterpart in the same line");
  warn_of_points_beyond(chain, fixed, o.fixed_points, warnings);
  const LandmarkError error = landmark_error(ctx, chain, fixed, moving);
  std::string table =
      text("%-16s%9s%9s%9s%9s%9s\n", (std::to_string(fixed.size()) + " landmarks, mm").c_str(),
           "mean", "sd", "median", "p95", "max");
  const int digits = length_digits(std::max(error.before.max, error.after.max) / 2, 3);
  for (const bool after : {false, true}) {
    const ErrorSummary& s = after ? error.after : error.before;
    table += text("%-16s", after ? "after" : "before");
    for (const double length : {s.mean, s.sd, s.median, s.p95, s.max})
      table += cell(9, digits, length);
    table += '\n';
  }
  ordered_json json{{"n", fixed.size()},
                    {"tre_before_mean", error.before.mean},
                    {"tre_mean", error.after.mean},
                    {"tre_sd", error.after.sd},
                    {"tre_median", error.after.median},
                    {"tre_p95", error.after.p95},
                    {"tre_max", error.after.max}};
  if (o.per_point) {
    json["tre_before"] = error.before_mm;
    json["tre"] = error.after_mm;
  }
  return {table, json};
}

}  // namespace freeflow::apps
