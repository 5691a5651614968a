#include <experiments/quickstart/picture.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <freeflow/io/picture_file.h>

namespace freeflow::quickstart {

namespace {

using Colour = std::array<unsigned char, 3>;

constexpr int gap = 6, columns = 5, rows = 3;

/// The plane of the middle voxel along `normal`; its columns run along grid axis `across`, its rows
/// down along axis `down`, backwards.
struct Plane {
  Extent extent;
  int normal, across, down;

  int width() const { return extent[across]; }
  int height() const { return extent[down]; }
  std::array<int, 3> voxel(int column, int row) const {
    std::array<int, 3> v{};
    v[normal] = extent[normal] / 2;
    v[across] = column;
    v[down] = height() - 1 - row;
    return v;
  }
  std::size_t index(int column, int row) const {
    const auto v = voxel(column, row);
    return VolumeView<float>{nullptr, extent}.offset(v[0], v[1], v[2]);
  }
};

class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width), height_(height), rgb_(std::size_t(3) * width * height, 255) {}
  void draw(const Plane& plane, int left, int top, const std::function<Colour(int, int)>& colour) {
    for (int row = 0; row < plane.height(); ++row)
      for (int column = 0; column < plane.width(); ++column) {
        const Colour c = colour(column, row);
        std::copy(c.begin(), c.end(),
                  rgb_.begin() + 3 * (std::ptrdiff_t(top + row) * width_ + left + column));
      }
  }
  void write(const std::string& path) const { write_png(path, width_, height_, rgb_); }

 private:
  int width_, height_;
  std::vector<unsigned char> rgb_;
};

/// Grey from black (0) to white (a bright voxel; not the brightest, which would leave all others
/// dark).
class Grey {
 public:
  explicit Grey(const HostImage& image) : voxels_(image.voxels) {
    std::vector<float> bright;
    std::copy_if(voxels_.begin(), voxels_.end(), std::back_inserter(bright),
                 [](float v) { return v > 0; });
    if (bright.empty()) return;
    const auto high = bright.begin() + std::ptrdiff_t(0.99 * double(bright.size() - 1));
    std::nth_element(bright.begin(), high, bright.end());
    white_ = *high;
  }
  Colour operator()(std::size_t voxel) const {
    const float v = voxels_[voxel];
    // NaN is black
    const auto level = static_cast<unsigned char>(v > 0 ? std::min(255.0f, 255 * v / white_) : 0);
    return {level, level, level};
  }

 private:
  const std::vector<float>& voxels_;
  float white_ = 1;
};

/// True where the point that the voxel is mapped to lies on a line of a lattice in the moving
/// image: within half a pixel's worth of it, so that lines stay one or two pixels wide however they
/// are stretched.
bool on_grid_line(const HostField& u, const Plane& plane, int column, int row) {
  constexpr double spacing = 10;
  const auto mapped = [&](int axis, int c, int r) {
    c = std::clamp(c, 0, plane.width() - 1);
    r = std::clamp(r, 0, plane.height() - 1);
    return plane.voxel(c, r)[axis] +
           double(u.planes[axis * plane.extent.count() + plane.index(c, r)]);
  };
  for (const int axis : {plane.across, plane.down}) {
    const double here = mapped(axis, column, row);
    const double slope = std::max(std::abs(mapped(axis, column + 1, row) - here),
                                  std::abs(mapped(axis, column, row + 1) - here));
    if (std::abs(std::remainder(here, spacing)) <= 0.5 * slope) return true;
  }
  return false;
}

}  // namespace

void write_picture(const std::string& path, const HostImage& fixed, const HostImage& moving,
                   const HostImage& warped, const HostField& u) {
  const Extent n = fixed.geometry.extent;
  const Plane planes[rows] = {{n, 2, 0, 1}, {n, 1, 0, 2}, {n, 0, 1, 2}};
  int width = 0, height = gap;
  for (const Plane& plane : planes) {
    width = std::max(width, plane.width());
    height += plane.height() + gap;
  }
  Canvas canvas(gap + columns * (width + gap), height);
  const Grey grey_fixed(fixed), grey_moving(moving), grey_warped(warped);
  const Colour line{255, 200, 40};
  int top = gap;
  for (const Plane& plane : planes) {
    const auto cell = [&](int column, const std::function<Colour(int, int)>& colour) {
      canvas.draw(plane, gap + column * (width + gap) + (width - plane.width()) / 2, top, colour);
    };
    cell(0, [&](int c, int r) { return grey_fixed(plane.index(c, r)); });
    cell(1, [&](int c, int r) { return grey_moving(plane.index(c, r)); });
    cell(2, [&](int c, int r) { return grey_warped(plane.index(c, r)); });
    cell(3, [&](int c, int r) {
      return (c / 24 + r / 24) % 2 ? grey_warped(plane.index(c, r)) : grey_fixed(plane.index(c, r));
    });
    cell(4, [&](int c, int r) {
      return on_grid_line(u, plane, c, r) ? line : grey_fixed(plane.index(c, r));
    });
    top += plane.height() + gap;
  }
  canvas.write(path);
}

}  // namespace freeflow::quickstart
