#include <freeflow/io/transforms/afni.h>

#include <cmath>
#include <fstream>
#include <locale>
#include <numbers>
#include <sstream>

#include <freeflow/core/world_axes.h>
#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/vector_nifti.h>

namespace freeflow {

namespace {

/// As AFNI does, above 0.01 degrees between an axis and the nearest of the world's.
bool is_oblique(const Geometry& grid) {
  const double smallest_cosine = grid.direction.cwiseAbs().colwise().maxCoeff().minCoeff();
  return smallest_cosine < std::cos(0.01 * std::numbers::pi / 180);
}

/// Where AFNI believes a point of an oblique image to be: the axes turned to the nearest ones of
/// the world, as nifti_mat44_to_orientation has them, the first voxel's place kept. The identity
/// for other images.
Eigen::Affine3d cardinal_of_real(const Geometry& grid) {
  if (!is_oblique(grid)) return Eigen::Affine3d::Identity();
  Geometry cardinal = grid;
  cardinal.direction = nearest_world_axes(grid.direction);
  return cardinal.index_to_world() * grid.world_to_index();
}

Eigen::Affine3d cardinal_or_identity(const std::optional<Geometry>& grid) {
  return grid ? cardinal_of_real(*grid) : Eigen::Affine3d::Identity();
}

/// Of what lacks an image's geometry that it needs. done: taken, written.
std::string between_afni_images(const std::string& path, const char* done) {
  return "'" + path + "' is between images as AFNI sees them; " + done +
         " as it stands, which is wrong if one of them is oblique (set TransformContext::fixed and "
         "TransformContext::moving)";
}

/// Shifts, angles, scales and shears are twelve numbers a row, too, whose names stand above them.
void refuse_parameters(const std::string& path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line) && line.starts_with('#');)
    if (line.find("x-shift") != std::string::npos)
      fail_reading(path,
                   "it holds shifts, angles and scales, not a matrix; let 3dAllineate "
                   "-1Dmatrix_save write that");
}

HostTransform read_matrix(const std::string& path, const TransformContext& context) {
  const auto rows = read_number_rows(path);
  refuse_parameters(path);
  std::vector<double> numbers;
  if (rows.size() == 1 || (rows.size() == 3 && rows.front().size() == 4))
    for (const auto& row : rows) numbers.insert(numbers.end(), row.begin(), row.end());
  else if (rows.size() > 1 && rows.front().size() == 12)
    fail_reading(path, "its " + std::to_string(rows.size()) +
                           " rows are as many transforms, one for each volume of a series; keep "
                           "the row wanted");
  if (numbers.size() != 12) fail_reading(path, "it is no row of twelve numbers");
  HostTransform transform;
  transform.steps.emplace_back(cardinal_or_identity(context.moving).inverse() *
                               matrix_of(path, numbers) * cardinal_or_identity(context.fixed));
  if (!context.fixed || !context.moving)
    transform.warnings.push_back(between_afni_images(path, "taken"));
  return transform;
}

/// whose: its, the fixed image's, the moving image's.
void refuse_oblique(const Geometry& grid, const std::string& path, const std::string& whose,
                    void (*fail)(const std::string&, const std::string&)) {
  if (is_oblique(grid))
    fail(path, whose +
                   " grid is oblique, and AFNI's programs take the axes of such a warp as "
                   "cardinal; resample the images onto cardinal axes first (3dWarp -deoblique)");
}

/// Of a warp and its images, where they are known.
void refuse_oblique(const Geometry& grid, const TransformContext& context, const std::string& path,
                    void (*fail)(const std::string&, const std::string&)) {
  refuse_oblique(grid, path, "its", fail);
  if (context.fixed) refuse_oblique(*context.fixed, path, "the fixed image's", fail);
  if (context.moving) refuse_oblique(*context.moving, path, "the moving image's", fail);
}

}  // namespace

HostTransform read_afni(const std::string& path, const TransformContext& context) {
  size_of_readable_file(path);
  if (!is_nifti(path)) return read_matrix(path, context);
  const VectorNifti file = require_vectors(path);
  HostTransform transform;
  const Geometry grid = vector_grid(file, transform.warnings);
  refuse_oblique(grid, context, path, fail_reading);
  if (!context.moving) transform.warnings.push_back(between_afni_images(path, "taken"));
  const std::vector<float> planes = read_nifti_values(file.header);
  if (spread_of(grid.extent, planes, grid.index_to_world()).looks_like_positions() ||
      spread_of(grid.extent, planes, swap_ras_lps() * grid.index_to_world()).looks_like_positions())
    fail_reading(path,
                 "its vectors are positions, but AFNI's are displacements; read it as "
                 "TransformFormat::spm or mrtrix");
  const Eigen::Matrix3d to_voxels = grid.world_to_index().linear();
  const std::size_t count = grid.extent.count();
  transform.steps.emplace_back(
      make_field(path, grid, transform.warnings, [&](std::size_t voxel, const Eigen::Vector3d&) {
        return Eigen::Vector3d(to_voxels * Eigen::Vector3d(planes[voxel], planes[count + voxel],
                                                           planes[2 * count + voxel]));
      }));
  return transform;
}

std::vector<std::string> said_of_written_afni(const std::string& path,
                                              const TransformContext& context) {
  if (context.moving && (context.fixed || is_nifti(path))) return {};
  return {between_afni_images(path, "written")};
}

void write_afni(const std::string& path, const HostTransform& transform,
                const TransformContext& context) {
  if (!is_nifti(path)) {
    const Eigen::Affine3d affine = cardinal_or_identity(context.moving) *
                                   affine_to_write(path, transform) *
                                   cardinal_or_identity(context.fixed).inverse();
    if (!affine.matrix().allFinite())
      fail_writing(path, "the transform has numbers that are not finite");
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text.precision(17);
    text << "# 3dvolreg matrices (DICOM-to-DICOM, row-by-row):\n";
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < 4; ++column)
        text << affine.matrix()(row, column) << (row == 2 && column == 3 ? "\n" : "  ");
    return write_text(path, text.str());
  }
  const GridMap map = grid_map(path, transform, context);
  refuse_oblique(map.grid, context, path, fail_writing);
  const Eigen::Affine3d to_world = map.grid.index_to_world();
  const bool direct = map.field && map.after.matrix().isIdentity(0);
  const std::size_t count = map.grid.extent.count();
  std::vector<float> planes(3 * count);
  for_each_index(map.grid.extent, [&](std::size_t voxel, const Eigen::Vector3d& index) {
    const Eigen::Vector3d u =
        direct ? Eigen::Vector3d(to_world.linear() *
                                 Eigen::Vector3d(map.field->planes[voxel],
                                                 map.field->planes[count + voxel],
                                                 map.field->planes[2 * count + voxel]))
               : Eigen::Vector3d(map.position(voxel, index) - to_world * index);
    for (std::size_t component = 0; component < 3; ++component)
      planes[component * count + voxel] = float(u[Eigen::Index(component)]);
  });
  constexpr int nifti_intent_vector = 1007;
  write_vectors(path, map.grid, planes, {5, nifti_intent_vector, "", 0});
}

}  // namespace freeflow
