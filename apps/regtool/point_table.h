// Tables of points as files: CSV of which each line begins with x,y,z.
#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

namespace freeflow::apps {

struct PointTable {
  std::string names;  ///< the first line, where it is no point
  std::vector<Eigen::Vector3d> points;
  std::vector<std::string> rest;  ///< of each line, with its comma
};

/// Empty lines and those that begin with # are left out. Throws IoError with the line that is none.
PointTable read_points(const std::string& path);

/// Throws IoError.
void write_points(const std::string& path, const PointTable& table);

}  // namespace freeflow::apps
