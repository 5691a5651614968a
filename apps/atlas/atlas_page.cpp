#include <apps/atlas/atlas_report.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <freeflow/io/picture_file.h>
#include <freeflow/io/write_error.h>

namespace freeflow::apps {

namespace {

constexpr float black = 0, white = 180;  // normalised intensities

std::string base64(const std::string& bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned word = 0;
    for (std::size_t j = 0; j < 3; ++j)
      word = word << 8 | (i + j < bytes.size() ? (unsigned char)bytes[i + j] : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      out += i + j <= bytes.size() ? digits[word >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

/// An <img> of grey values, the last row on top, in true proportions.
std::string picture(const std::vector<float>& values, int width, int height, double aspect,
                    const std::string& scratch) {
  std::vector<unsigned char> rgb;
  for (int y = height - 1; y >= 0; --y)
    for (int x = 0; x < width; ++x) {
      const float v = values[std::size_t(y) * std::size_t(width) + std::size_t(x)];
      const float grey = std::isfinite(v) ? std::clamp((v - black) / (white - black), 0.f, 1.f) : 0;
      rgb.insert(rgb.end(), 3, (unsigned char)std::lround(255 * grey));
    }
  write_png(scratch, width, height, rgb);
  std::ifstream file(scratch, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  std::filesystem::remove(scratch);
  std::ostringstream html;
  html << "<img style=\"height:" << 260
       << "px;width:" << std::lround(260.0 * width / height / aspect)
       << "px\" src=\"data:image/png;base64," << base64(bytes.str()) << "\">";
  return html.str();
}

/// The middle plane across an axis.
std::string plane(const std::vector<float>& image, const Geometry& grid, int across,
                  const std::string& scratch) {
  const int u = across == 0 ? 1 : 0, v = across == 2 ? 1 : 2;
  const Extent n = grid.extent;
  std::vector<float> values;
  int index[3] = {n.x / 2, n.y / 2, n.z / 2};
  for (index[v] = 0; index[v] < n[v]; ++index[v])
    for (index[u] = 0; index[u] < n[u]; ++index[u])
      values.push_back(image[n.offset(index[0], index[1], index[2])]);
  return picture(values, n[u], n[v], grid.spacing[v] / grid.spacing[u], scratch);
}

std::string row(const std::vector<std::string>& cells, const char* tag = "td") {
  std::string html = "<tr>";
  for (const std::string& cell : cells)
    html += std::string("<") + tag + ">" + cell + "</" + tag + ">";
  return html + "</tr>\n";
}

std::string number(double value, int digits = 3) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string members_table(const AtlasReport& in) {
  std::vector<const AtlasMember*> members;
  for (const AtlasMember& m : in.atlas.members) members.push_back(&m);
  std::ranges::stable_sort(members, std::greater<>(), &AtlasMember::outlier_score);
  std::string html = "<table>" + row({"subject", "outlier score", "correlation", "deformation mm",
                                      "affine distance mm", ""},
                                     "th");
  for (const AtlasMember* m : members)
    html += row({escaped(m->name), number(m->outlier_score, 1), number(m->correlation, 4),
                 number(m->deformation_mm, 2), number(m->affine_distance_mm, 2),
                 m->failure.empty() ? (m->outside_affine_mean ? "outside the affine mean" : "")
                                    : "left out: " + escaped(m->failure)});
  return html + "</table>";
}

}  // namespace

void write_atlas_page(const std::string& path, const std::string& scratch, Context& ctx,
                      const AtlasReport& in) {
  const AtlasResult& atlas = in.atlas;
  const Geometry& grid = atlas.mask.geometry();
  const std::vector<float> image = atlas.channels[0].to_host(ctx);
  std::ofstream page(path);
  if (!page) fail_writing(path, errno);
  page << "<!DOCTYPE html><meta charset=\"utf-8\"><title>Template of " << atlas.members.size()
       << " subjects</title>\n<style>body{font:14px sans-serif;margin:2em}td,th{padding:2px 12px;"
          "text-align:right}img{margin:2px;background:#000}figure{display:inline-block;margin:4px}"
          "</style>\n<h1>Template of "
       << atlas.members.size() << " subjects</h1>\n<p>";
  for (int across = 0; across < 3; ++across) page << plane(image, grid, across, scratch);
  page << "</p>\n<h2>Rounds</h2>\n<p>";
  for (const AtlasRound& r : atlas.rounds)
    page << "<figure>"
         << picture(r.picture, r.width, r.height, grid.spacing.y() / grid.spacing.x(), scratch)
         << "<figcaption>" << r.resolution + 1 << "." << r.round + 1 << "</figcaption></figure>";
  page << "</p>\n<table>"
       << row({"round", "mean deformation mm", "change voxels", "subjects' mm", "sharpness / mm",
               "s"},
              "th");
  for (const AtlasRound& r : atlas.rounds)
    page << row({std::to_string(r.resolution + 1) + "." + std::to_string(r.round + 1),
                 number(r.drift_mm), number(r.change_voxels), number(r.deformation_mm, 2),
                 number(r.sharpness, 4), number(r.seconds, 2)});
  page << "</table>\n<h2>Subjects, the least alike first</h2>\n" << members_table(in) << '\n';
  page.close();
  if (!page) fail_cut_short(path);
}

}  // namespace freeflow::apps
