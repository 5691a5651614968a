#include <apps/report_page/edges.h>

#include <algorithm>
#include <cmath>

namespace freeflow::apps {

namespace {

/// A picture that goes on beyond its border as it ends there.
struct Shades {
  std::vector<float> values;
  int columns, rows;
  float operator()(int x, int y) const {
    return values[std::size_t(std::clamp(y, 0, rows - 1)) * std::size_t(columns) +
                  std::size_t(std::clamp(x, 0, columns - 1))];
  }
  template <class Value>
  Shades each(const Value& value) const {
    Shades out{{}, columns, rows};
    out.values.reserve(values.size());
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < columns; ++x) out.values.push_back(value(x, y));
    return out;
  }
};

Shades smoothed(const Shades& s) {
  const Shades along =
      s.each([&](int x, int y) { return (s(x - 1, y) + 2 * s(x, y) + s(x + 1, y)) / 4; });
  return along.each(
      [&](int x, int y) { return (along(x, y - 1) + 2 * along(x, y) + along(x, y + 1)) / 4; });
}

float strong(std::vector<float> magnitudes) {
  constexpr float share_of_strongest = 0.35F;
  const auto strongest = magnitudes.begin() + std::ptrdiff_t(0.98 * double(magnitudes.size() - 1));
  std::ranges::nth_element(magnitudes, strongest);
  return std::max(share_of_strongest * *strongest, 1e-6F);
}

}  // namespace

std::vector<unsigned char> edges_of(const std::vector<float>& values, int columns, int rows,
                                    double column_mm, double row_mm) {
  Shades shades{values, columns, rows};
  for (float& v : shades.values)
    if (std::isnan(v)) v = 0;
  const Shades s = smoothed(smoothed(shades));
  const float unit = float(std::min(column_mm, row_mm));
  const float per_column = unit / float(column_mm), per_row = unit / float(row_mm);
  const auto along_x = [&](int x, int y) { return (s(x + 1, y) - s(x - 1, y)) * per_column; };
  const auto along_y = [&](int x, int y) { return (s(x, y + 1) - s(x, y - 1)) * per_row; };
  const Shades magnitude =
      s.each([&](int x, int y) { return std::hypot(along_x(x, y), along_y(x, y)); });
  const float least = strong(magnitude.values);
  std::vector<unsigned char> edges;
  edges.reserve(values.size());
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) {
      const float here = magnitude(x, y), gx = along_x(x, y), gy = along_y(x, y);
      const float steep = 2.414F;  // the tangent of 67.5 degrees: the nearest of eight neighbours
      const int dx = std::abs(gy) > steep * std::abs(gx) ? 0 : 1;
      const int dy = std::abs(gx) > steep * std::abs(gy) ? 0 : (gx * gy < 0 && dx ? -1 : 1);
      edges.push_back(here >= least && here > magnitude(x - dx, y - dy) &&
                      here >= magnitude(x + dx, y + dy));
    }
  return edges;
}

}  // namespace freeflow::apps
