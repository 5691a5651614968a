// 3D Slicer's markups (.mrk.json), read and written again.
#include "support.h"

#include <apps/regtool/point_table.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const std::string path = fuzz::input_file("x.json", bytes, count);
  apps::PointTable table;
  if (!fuzz::reads([&] { table = apps::read_points(path, "lps"); })) return 0;
  for (const Eigen::Vector3d& point : table.points)
    fuzz::expect(point.allFinite(), "points are finite");
  apps::write_points(path, table);
  const apps::PointTable again = apps::read_points(path, "lps");
  fuzz::expect(again.frame == table.frame && again.points == table.points,
               "what was written is read as it was");
  return 0;
}
