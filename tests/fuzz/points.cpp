// Tables of points (CSV, 3D Slicer's .fcsv).
#include "support.h"

#include <apps/regtool/point_table.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const std::string path = fuzz::input_file("x.csv", bytes, count);
  for (const char* frame : {"lps", "voxel"})
    fuzz::reads([&] {
      const apps::PointTable table = apps::read_points(path, frame);
      fuzz::expect(table.points.size() == table.cells.size(), "a line of text for each point");
      for (const Eigen::Vector3d& point : table.points)
        fuzz::expect(point.allFinite(), "points are finite");
    });
  return 0;
}
