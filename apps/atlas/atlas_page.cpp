#include <apps/atlas/atlas_report.h>
#include <apps/html.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace freeflow::apps {

namespace {

constexpr float black = 0, white = 180;  // normalised intensities

/// An <img> of grey values, the last row on top, in true proportions.
std::string picture(const std::vector<float>& values, int width, int height, double aspect) {
  Picture greys{width, height, {}};
  greys.pixels.reserve(values.size());
  for (int y = height - 1; y >= 0; --y)
    for (int x = 0; x < width; ++x) {
      const float v = values[std::size_t(y) * std::size_t(width) + std::size_t(x)];
      const float grey = std::isfinite(v) ? std::clamp((v - black) / (white - black), 0.f, 1.f) : 0;
      greys.pixels.push_back((unsigned char)std::lround(255 * grey));
    }
  std::ostringstream html;
  html << "<img style=\"height:" << 260
       << "px;width:" << std::lround(260.0 * width / height / aspect) << "px\" src=\""
       << data_url(greys) << "\">";
  return html.str();
}

/// The middle plane across an axis.
std::string plane(const std::vector<float>& image, const Geometry& grid, int across) {
  const int u = across == 0 ? 1 : 0, v = across == 2 ? 1 : 2;
  const Extent n = grid.extent;
  std::vector<float> values;
  int index[3] = {n.x / 2, n.y / 2, n.z / 2};
  for (index[v] = 0; index[v] < n[v]; ++index[v])
    for (index[u] = 0; index[u] < n[u]; ++index[u])
      values.push_back(image[n.offset(index[0], index[1], index[2])]);
  return picture(values, n[u], n[v], grid.spacing[v] / grid.spacing[u]);
}

std::string members_table(const AtlasReport& in) {
  std::vector<const AtlasMember*> members;
  for (const AtlasMember& m : in.atlas.members) members.push_back(&m);
  std::ranges::stable_sort(members, std::greater<>(), &AtlasMember::outlier_score);
  std::string html = "<table>" + table_row({"subject", "outlier score", "correlation",
                                            "deformation mm", "affine distance mm", ""},
                                           "th");
  for (const AtlasMember* m : members)
    html += table_row(
        {escaped(m->name), fixed_digits(m->outlier_score, 1), fixed_digits(m->correlation, 4),
         fixed_digits(m->deformation_mm, 2), fixed_digits(m->affine_distance_mm, 2),
         m->failure.empty() ? (m->outside_affine_mean ? "outside the affine mean" : "")
                            : "left out: " + escaped(m->failure)});
  return html + "</table>";
}

}  // namespace

void write_atlas_page(const std::string& path, Context& ctx, const AtlasReport& in) {
  const AtlasResult& atlas = in.atlas;
  const Geometry& grid = atlas.mask.geometry();
  const std::vector<float> image = atlas.channels[0].to_host(ctx);
  std::ostringstream page;
  page << "<!DOCTYPE html><meta charset=\"utf-8\"><title>Template of " << atlas.members.size()
       << " subjects</title>\n<style>body{font:14px sans-serif;margin:2em}td,th{padding:2px 12px;"
          "text-align:right}img{margin:2px;background:#000}figure{display:inline-block;margin:4px}"
          "</style>\n<h1>Template of "
       << atlas.members.size() << " subjects</h1>\n<p>";
  for (int across = 0; across < 3; ++across) page << plane(image, grid, across);
  page << "</p>\n<h2>Rounds</h2>\n<p>";
  for (const AtlasRound& r : atlas.rounds)
    page << "<figure>" << picture(r.picture, r.width, r.height, grid.spacing.y() / grid.spacing.x())
         << "<figcaption>" << r.resolution + 1 << "." << r.round + 1 << "</figcaption></figure>";
  page << "</p>\n<table>"
       << table_row({"round", "mean deformation mm", "change voxels", "subjects' mm",
                     "sharpness / mm", "s"},
                    "th");
  for (const AtlasRound& r : atlas.rounds)
    page << table_row({std::to_string(r.resolution + 1) + "." + std::to_string(r.round + 1),
                       fixed_digits(r.drift_mm), fixed_digits(r.change_voxels),
                       fixed_digits(r.deformation_mm, 2), fixed_digits(r.sharpness, 4),
                       fixed_digits(r.seconds, 2)});
  page << "</table>\n<h2>Subjects, the least alike first</h2>\n" << members_table(in) << '\n';
  write_page(path, page.str());
}

}  // namespace freeflow::apps
