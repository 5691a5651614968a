#include <apps/report_page/deformation_grid.h>

#include <algorithm>
#include <cmath>

namespace freeflow::apps {

namespace {

constexpr double lines_across = 32, points_along = 100, units_across = 2000;

/// A plane's displacement in the units of the paths.
class Lines {
 public:
  Lines(const PlaneValues& values, double unit_mm)
      : u_(values.displacement.data()), columns_(values.plane.slab.extent.x),
        rows_(values.plane.slab.extent.y), column_(values.plane.slab.spacing.x() / unit_mm),
        row_(values.plane.slab.spacing.y() / unit_mm) {}

  std::string paths(double line_units) const {
    const int every_column = every(column_, line_units), every_row = every(row_, line_units);
    const int points_x = std::max(int(columns_ / points_along), 1),
              points_y = std::max(int(rows_ / points_along), 1);
    std::string d;
    for (int y = every_row / 2; y < rows_; y += every_row)
      for (int x = 0; x < columns_; x = next(x, points_x, columns_)) add(d, x, y, x == 0);
    for (int x = every_column / 2; x < columns_; x += every_column)
      for (int y = 0; y < rows_; y = next(y, points_y, rows_)) add(d, x, y, y == 0);
    return d;
  }

 private:
  static int every(double voxel_units, double line_units) {
    return std::max(int(std::lround(line_units / voxel_units)), 1);
  }
  /// The last voxel is always among them.
  static int next(int at, int by, int count) {
    return at == count - 1 ? count : std::min(at + by, count - 1);
  }
  void add(std::string& d, int x, int y, bool first) const {
    const std::size_t at = std::size_t(y) * std::size_t(columns_) + std::size_t(x),
                      plane = std::size_t(rows_) * std::size_t(columns_);
    const long px = std::lround((x + 0.5 + double(u_[at])) * column_),
               py = std::lround((y + 0.5 + double(u_[plane + at])) * row_);
    d.append(first ? "M" : " ").append(std::to_string(px)).append(" ").append(std::to_string(py));
  }

  const float* u_;
  int columns_, rows_;
  double column_, row_;
};

}  // namespace

void draw_grids(const std::array<PlaneValues, 3>& planes, PagePictures& pictures) {
  double side_mm = 0;
  for (const PlanePictures& p : pictures.planes)
    side_mm = std::max({side_mm, p.width_mm, p.height_mm});
  const double unit_mm = side_mm / units_across;
  pictures.grid_mm = side_mm / lines_across;
  for (std::size_t i = 0; i < 3; ++i) {
    PlanePictures& p = pictures.planes[i];
    p.grid_width = int(std::lround(p.width_mm / unit_mm));
    p.grid_height = int(std::lround(p.height_mm / unit_mm));
    p.grid = planes[i].displacement.empty()
                 ? std::string()
                 : Lines(planes[i], unit_mm).paths(units_across / lines_across);
  }
}

}  // namespace freeflow::apps
