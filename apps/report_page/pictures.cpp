#include <apps/report_page/pictures.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <apps/html.h>
#include <apps/report_page/deformation_grid.h>
#include <apps/report_page/edges.h>

namespace freeflow::apps {

namespace {

using Pixels = std::vector<unsigned char>;

/// How the voxels of a plane become pixels: every `step`-th of them.
struct Sampling {
  int columns, rows, step;
  int width() const { return (columns + step - 1) / step; }
  int height() const { return (rows + step - 1) / step; }
  template <class PixelOf>
  Picture draw(const PixelOf& pixel_of) const {
    Picture picture{width(), height(), {}};
    picture.pixels.reserve(std::size_t(width()) * std::size_t(height()));
    for (int y = 0; y < rows; y += step)
      for (int x = 0; x < columns; x += step)
        picture.pixels.push_back((unsigned char)pixel_of(x, y));
    return picture;
  }
  std::size_t at(int x, int y) const {
    return std::size_t(y) * std::size_t(columns) + std::size_t(x);
  }
};

Rgb mixed(const Rgb& from, const Rgb& to, double share) {
  Rgb colour{};
  for (std::size_t i = 0; i < 3; ++i)
    colour[i] = (unsigned char)std::lround(from[i] + share * (to[i] - from[i]));
  return colour;
}

/// Dark where nothing differs, so that the eye goes to what does.
Rgb diverging(double value, const Rgb& low, const Rgb& high) {
  constexpr Rgb middle{18, 20, 24};
  return mixed(middle, value < 0 ? low : high, std::min(std::abs(value), 1.0));
}

constexpr int places = 201, zero = 100;  // of a diverging palette, before its marks

int place_of(double value) {
  return std::isfinite(value) ? zero + int(std::lround(std::clamp(value, -1.0, 1.0) * zero)) : zero;
}

template <class Colour>
void set_palette(Picture& picture, const Colour& colour) {
  for (int i = 0; i < places; ++i) {
    const Rgb c = colour(double(i - zero) / zero);
    picture.palette.push_back({c[0], c[1], c[2], 255});
  }
}

std::string greys(const Sampling& sampling, const std::vector<float>& values,
                  const Window& window) {
  return data_url(sampling.draw([&](int x, int y) {
    const float v = window(values[sampling.at(x, y)]);
    return std::isnan(v) ? 0 : std::lround(255 * v);
  }));
}

std::string difference(const Sampling& sampling, const std::vector<float>& fixed,
                       const Window& fixed_window, const std::vector<float>& moving,
                       const Window& moving_window) {
  if (moving.empty()) return {};
  Picture picture = sampling.draw([&](int x, int y) {
    const std::size_t i = sampling.at(x, y);
    return place_of(double(fixed_window(fixed[i]) - moving_window(moving[i])));
  });
  set_palette(picture, difference_colour);
  return data_url(picture);
}

std::string log_jacobian(const Sampling& s, const PlaneValues& values) {
  if (values.jacobian.empty()) return {};
  constexpr int fold = places;
  const auto folded_nearby = [&](int x, int y) {  // so that one voxel is seen too
    for (int v = std::max(y - 1, 0); v < std::min(y + s.step + 1, s.rows); ++v)
      for (int u = std::max(x - 1, 0); u < std::min(x + s.step + 1, s.columns); ++u)
        if (values.folded[s.at(u, v)]) return true;
    return false;
  };
  Picture picture = s.draw([&](int x, int y) {
    return folded_nearby(x, y)
               ? fold
               : place_of(std::log(double(values.jacobian[s.at(x, y)])) / std::numbers::ln2);
  });
  set_palette(picture, volume_colour);
  picture.palette.push_back({fold_colour[0], fold_colour[1], fold_colour[2], 255});
  return data_url(picture);
}

std::string edge_picture(const Sampling& sampling, const PlaneValues& values,
                         const Window& window) {
  std::vector<float> shades;
  shades.reserve(values.fixed.size());
  for (const float v : values.fixed) shades.push_back(window(v));
  const std::vector<unsigned char> edges =
      edges_of(shades, sampling.columns, sampling.rows, values.plane.slab.spacing.x(),
               values.plane.slab.spacing.y());
  Picture picture = sampling.draw([&](int x, int y) {
    for (int v = y; v < std::min(y + sampling.step, sampling.rows); ++v)
      for (int u = x; u < std::min(x + sampling.step, sampling.columns); ++u)
        if (edges[sampling.at(u, v)]) return 1;
    return 0;
  });
  picture.palette = {{{0, 0, 0, 0}, {edge_colour[0], edge_colour[1], edge_colour[2], 255}}};
  return data_url(picture);
}

PlanePictures pictures_of(const PlaneValues& values, const Window& fixed, const Window& moving,
                          int step) {
  const Geometry& slab = values.plane.slab;
  const Sampling sampling{slab.extent.x, slab.extent.y, step};
  PlanePictures p;
  p.name = values.plane.name;
  p.width_mm = slab.extent.x * slab.spacing.x();
  p.height_mm = slab.extent.y * slab.spacing.y();
  p.fixed = greys(sampling, values.fixed, fixed);
  p.warped = greys(sampling, values.warped, moving);
  p.edges = edge_picture(sampling, values, fixed);
  p.difference_before = difference(sampling, values.fixed, fixed, values.before, moving);
  p.difference_affine = difference(sampling, values.fixed, fixed, values.affine, moving);
  p.difference_after = difference(sampling, values.fixed, fixed, values.warped, moving);
  p.log_jacobian = log_jacobian(sampling, values);
  return p;
}

int longest_side(const std::array<PlaneValues, 3>& planes) {
  int side = 1;
  for (const PlaneValues& p : planes)
    side = std::max({side, p.plane.slab.extent.x, p.plane.slab.extent.y});
  return side;
}

}  // namespace

Rgb difference_colour(double value) {
  return diverging(std::copysign(std::pow(std::abs(value), 0.75), value), {90, 170, 255},
                   {255, 170, 60});
}

Rgb volume_colour(double share) { return diverging(share, {70, 160, 255}, {255, 120, 60}); }

std::size_t PagePictures::bytes() const {
  std::size_t sum = 0;
  for (const PlanePictures& p : planes)
    for (const std::string* part :
         {&p.fixed, &p.warped, &p.edges, &p.difference_before, &p.difference_affine,
          &p.difference_after, &p.log_jacobian, &p.grid})
      sum += part->size();
  return sum;
}

PagePictures make_pictures(const std::array<PlaneValues, 3>& planes, const Window& fixed,
                           const Window& moving, std::size_t most_bytes) {
  PagePictures pictures;
  constexpr int most_pixels = 400;  // a side: as many as a page shows
  for (pictures.step = (longest_side(planes) + most_pixels - 1) / most_pixels;; ++pictures.step) {
    for (std::size_t i = 0; i < 3; ++i)
      pictures.planes[i] = pictures_of(planes[i], fixed, moving, pictures.step);
    draw_grids(planes, pictures);
    if (pictures.bytes() <= most_bytes || pictures.step >= longest_side(planes)) return pictures;
  }
}

}  // namespace freeflow::apps
