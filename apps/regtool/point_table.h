// Tables of points as files: columns x, y and z between commas, semicolons or tabs, and 3D Slicer's
// fiducials.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace freeflow::apps {

struct PointTable {
  std::string names;     ///< the lines before the points, where they name the columns
  std::string frame;     ///< lps, ras or voxel
  char separator = ',';  ///< or a semicolon or a tab
  std::array<std::size_t, 3> columns = {0, 1, 2};  ///< of x, y and z
  bool counts_voxels = false;  ///< its columns are called i, j and k, or x_vox and so on
  std::string unit;            ///< that its columns name, where it is not mm
  std::vector<Eigen::Vector3d> points;
  std::vector<std::vector<std::string>> cells;  ///< of each point's line
  std::string markups;                          ///< 3D Slicer's JSON, whole, where it is such
};

/// 3D Slicer's markups (.json), or a table. Its columns are those that a first line of names, or a
/// comment "# columns = id,x,y,z,..." as 3D Slicer's .fcsv has, calls x, y and z (where voxels are
/// asked for i, j and k first), else the first three. Between semicolons numbers may have a decimal
/// comma, and are written with it again. Empty lines are left out, and comments unless one of them
/// names columns or the frame. Its points are of the frame that the file names, else of `frame`:
/// lps, ras or voxel. Throws IoError with the line that is no point, and where `frame` is another
/// than the file's and not the default, lps, unless it `may_be_of_another` file that is read beside
/// this one.
PointTable read_points(const std::string& path, const std::string& frame,
                       bool may_be_of_another = false);

/// Throws IoError.
void write_points(const std::string& path, const PointTable& table);

}  // namespace freeflow::apps
