// Private to io/transforms: what the formats share. A chain as one affine or as one map on a grid,
// fields made of what a file says per voxel, and matrices in text.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/transforms/host_transform.h>
#include <freeflow/io/transforms/vector_spread.h>

namespace freeflow {

/// RAS to LPS, and back.
Eigen::Affine3d swap_ras_lps();

/// The map that a matrix between RAS points makes between LPS points, and back.
Eigen::Affine3d between_ras_and_lps(const Eigen::Affine3d& map);

/// The chain as one affine. Throws IoError ("cannot write") when it holds a field.
Eigen::Affine3d affine_to_write(const std::string& path, const HostTransform& transform);

/// The chain as a map of a grid's voxel centres: after * (p + u(p)), u of `field` or none.
struct GridMap {
  Geometry grid;
  const HostField* field = nullptr;
  Eigen::Affine3d after = Eigen::Affine3d::Identity();

  /// LPS position that voxel number `voxel` at `index` is taken to.
  Eigen::Vector3d position(std::size_t voxel, const Eigen::Vector3d& index) const;
};

/// A chain of one field and the affines after it, on the field's grid; affines alone, on
/// TransformContext::fixed. Exact within the grid, for an affine of something linear between voxels
/// is linear between voxels. Throws IoError for other chains, InvalidArgument where the grid lacks.
GridMap grid_map(const std::string& path, const HostTransform& transform,
                 const TransformContext& context);

/// Calls f(voxel number, its index) for all voxels, on all threads; f must not throw.
template <class F>
void for_each_index(const Extent& extent, F&& f) {
#pragma omp parallel for schedule(static)
  for (int z = 0; z < extent.z; ++z) {
    std::size_t voxel = std::size_t(z) * std::size_t(extent.x) * std::size_t(extent.y);
    for (int y = 0; y < extent.y; ++y)
      for (int x = 0; x < extent.x; ++x) f(voxel++, Eigen::Vector3d(x, y, z));
  }
}

/// A field of displacement(voxel number, index), in voxels along the grid's axes. Where that is not
/// finite the field is 0, and a warning counts those voxels.
template <class F>
HostField make_field(const std::string& path, const Geometry& grid,
                     std::vector<std::string>& warnings, F&& displacement) {
  HostField field{grid, {}, {}};
  const std::size_t count = grid.extent.count();
  field.planes.resize(3 * count);
  std::vector<unsigned char> hole(count, 0);
  for_each_index(grid.extent, [&](std::size_t voxel, const Eigen::Vector3d& index) {
    const Eigen::Vector3f u = displacement(voxel, index).template cast<float>();
    hole[voxel] = !u.allFinite();
    for (std::size_t component = 0; component < 3; ++component)
      field.planes[component * count + voxel] = hole[voxel] ? 0.f : u[Eigen::Index(component)];
  });
  std::size_t holes = 0;
  for (const unsigned char one : hole) holes += one;
  if (holes == count) fail_reading(path, "none of its vectors is finite");
  if (holes > 0)
    warnings.push_back("'" + path + "': " + std::to_string(holes) +
                       " of its voxels have no finite vector; nothing is displaced there");
  return field;
}

/// Planes of positions (LPS or RAS millimetres, component slowest) as a field.
HostField field_of_positions(const std::string& path, const Geometry& grid,
                             const std::vector<float>& planes, bool ras,
                             std::vector<std::string>& warnings);
/// The positions of a map as such planes.
std::vector<float> positions_of(const GridMap& map, bool ras);

/// The numbers of a text file, line by line; '#' begins a comment. Throws IoError when a word is no
/// number, or not a finite one.
std::vector<std::vector<double>> read_number_rows(const std::string& path);
/// Three or four rows of four, checked: the last row is 0 0 0 1, the rest invertible.
Eigen::Affine3d read_matrix_text(const std::string& path);
/// Sixteen or twelve numbers, row by row. Throws IoError.
Eigen::Affine3d matrix_of(const std::string& path, const std::vector<double>& numbers);
/// Four rows of four, in full precision, after `heading`.
void write_matrix_text(const std::string& path, const Eigen::Affine3d& affine,
                       const std::string& heading = "");
/// Throws IoError where the file's name is one of an image or of ITK's other transforms.
void write_text(const std::string& path, const std::string& text);

/// The geometry named, or a GridUnknown that says which file needs it and why.
const Geometry& need(const std::optional<Geometry>& geometry, const std::string& path,
                     const char* field, const char* why);

}  // namespace freeflow
