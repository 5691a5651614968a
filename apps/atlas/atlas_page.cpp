#include <apps/atlas/atlas_report.h>
#include <apps/field_names.h>
#include <apps/html.h>
#include <apps/report_page/planes.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

namespace freeflow::apps {

namespace {

constexpr float black = 0, white = 180;  // normalised intensities

/// An <img> of grey values, rows from the top, in true proportions.
std::string picture(const std::vector<float>& values, const Plane& plane) {
  const Geometry& slab = plane.slab;
  Picture greys{slab.extent.x, slab.extent.y, {}};
  greys.pixels.reserve(values.size());
  for (const float v : values) {
    const float grey = std::isfinite(v) ? std::clamp((v - black) / (white - black), 0.f, 1.f) : 0;
    greys.pixels.push_back((unsigned char)std::lround(255 * grey));
  }
  constexpr double height = 260;
  const double width =
      height * (slab.extent.x * slab.spacing.x()) / (slab.extent.y * slab.spacing.y());
  std::ostringstream html;
  html << "<img alt=\"" << plane.name << "\" style=\"height:" << height
       << "px;width:" << std::lround(width) << "px\" src=\"" << data_url(greys) << "\">";
  return html.str();
}

std::array<Plane, 3> middle_planes(const Geometry& grid) {
  const Extent n = grid.extent;
  return planes_through(grid, Eigen::Vector3d(n.x, n.y, n.z) / 2);
}

/// The plane that a round kept, across the third axis of the template's grid.
std::string picture_of(const AtlasRound& round, const Geometry& grid) {
  Geometry slice = grid;
  slice.extent = {round.width, round.height, 1};
  slice.spacing.head<2>() = Eigen::Vector2d(round.pixel_mm[0], round.pixel_mm[1]);
  for (const Plane& plane : middle_planes(slice))
    if (plane.across == 2) return picture(values_on(plane, slice, round.picture), plane);
  return {};
}

std::string members_table(const AtlasReport& in, int digits) {
  std::vector<const AtlasMember*> members;
  for (const AtlasMember& m : in.atlas.members) members.push_back(&m);
  std::ranges::stable_sort(members, std::greater<>(), [](const AtlasMember* m) {
    return std::pair(m->failure.empty(), m->outlier_score);
  });
  std::string html = "<table>" + table_row({"subject", "outlier score", "correlation",
                                            "deformation mm", "affine distance mm", ""},
                                           "th");
  for (const AtlasMember* m : members)
    html +=
        m->failure.empty()
            ? table_row({escaped(m->name), fixed_digits(m->outlier_score, 1),
                         fixed_digits(m->correlation, 4), fixed_digits(m->deformation_mm, digits),
                         fixed_digits(m->affine_distance_mm, digits),
                         m->outside_affine_mean ? "outside the affine mean" : ""})
            : table_row({escaped(m->name), "–", "–", "–", "–",
                         "left out: " + escaped(translated(m->failure))});
  return html + "</table>";
}

}  // namespace

void write_atlas_page(const std::string& path, Context& ctx, const AtlasReport& in) {
  const AtlasResult& atlas = in.atlas;
  const Geometry& grid = atlas.mask.geometry();
  const std::vector<float> image = atlas.channels[0].to_host(ctx);
  const int digits = length_digits(grid.spacing.minCoeff(), 2);
  const auto subjects =
      std::ranges::count_if(atlas.members, [](const AtlasMember& m) { return m.failure.empty(); });
  std::ostringstream page;
  page << "<!DOCTYPE html><meta charset=\"utf-8\"><title>Template of " << subjects
       << " subjects</title>\n<style>body{font:14px sans-serif;margin:2em}td,th{padding:2px 12px;"
          "text-align:right}img{margin:2px;background:#000}figure{display:inline-block;margin:4px}"
          "</style>\n<h1>Template of "
       << subjects << " subjects</h1>\n<p>";
  for (const Plane& plane : middle_planes(grid))
    page << picture(values_on(plane, grid, image), plane);
  page << "</p>\n<p>The patient's left is on the right.</p>\n<h2>Rounds</h2>\n<p>";
  for (const AtlasRound& r : atlas.rounds)
    page << "<figure>" << picture_of(r, grid) << "<figcaption>" << r.resolution + 1 << "."
         << r.round + 1 << "</figcaption></figure>";
  page << "</p>\n<table>"
       << table_row({"round", "mean deformation mm", "change voxels", "subjects' mm",
                     "sharpness / mm", "s"},
                    "th");
  for (const AtlasRound& r : atlas.rounds)
    page << table_row({std::to_string(r.resolution + 1) + "." + std::to_string(r.round + 1),
                       fixed_digits(r.drift_mm, digits + 1), fixed_digits(r.change_voxels),
                       fixed_digits(r.deformation_mm, digits), fixed_digits(r.sharpness, 4),
                       fixed_digits(r.seconds, 2)});
  page << "</table>\n<h2>Subjects, the least alike first</h2>\n"
       << members_table(in, digits) << '\n';
  write_page(path, page.str());
}

}  // namespace freeflow::apps
