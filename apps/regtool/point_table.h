// Tables of points as files: CSV or TSV with columns x, y and z.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace freeflow::apps {

struct PointTable {
  std::string names;                               ///< the first line, where it names the columns
  char separator = ',';                            ///< or a tab
  std::array<std::size_t, 3> columns = {0, 1, 2};  ///< of x, y and z
  std::vector<Eigen::Vector3d> points;
  std::vector<std::vector<std::string>> cells;  ///< of each point's line
};

/// The columns are those that a first line of names calls x, y and z, else the first three. Empty
/// lines and those that begin with # are left out. Throws IoError with the line that is no point.
PointTable read_points(const std::string& path);

/// Throws IoError.
void write_points(const std::string& path, const PointTable& table);

}  // namespace freeflow::apps
