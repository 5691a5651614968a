#include <freeflow/io/transforms/chain.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <locale>
#include <sstream>

#include <freeflow/core/error.h>
#include <freeflow/io/decimal_point.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

Eigen::Affine3d swap_ras_lps() {
  return Eigen::Affine3d(Eigen::Scaling(Eigen::Vector3d(-1, -1, 1)));
}

Eigen::Affine3d between_ras_and_lps(const Eigen::Affine3d& map) {
  return swap_ras_lps() * map * swap_ras_lps();
}

Eigen::Affine3d affine_to_write(const std::string& path, const HostTransform& transform) {
  Eigen::Affine3d chain = Eigen::Affine3d::Identity();
  for (const auto& step : transform.steps) {
    const auto* affine = std::get_if<Eigen::Affine3d>(&step);
    if (!affine)
      fail_writing(path,
                   "the transform holds a displacement field, but such a file holds a matrix; "
                   "write .nii.gz, or ITK's .h5");
    chain = *affine * chain;
  }
  return chain;
}

Eigen::Vector3d GridMap::position(std::size_t voxel, const Eigen::Vector3d& index) const {
  Eigen::Vector3d displaced = index;
  if (field) {
    const std::size_t count = grid.extent.count();
    for (std::size_t component = 0; component < 3; ++component)
      displaced[Eigen::Index(component)] += field->planes[component * count + voxel];
  }
  return after * (grid.index_to_world() * displaced);
}

GridMap grid_map(const std::string& path, const HostTransform& transform,
                 const TransformContext& context) {
  GridMap map;
  for (const auto& step : transform.steps) {
    if (const auto* affine = std::get_if<Eigen::Affine3d>(&step)) {
      map.after = *affine * map.after;
    } else if (map.field || !map.after.matrix().isIdentity(0)) {
      fail_writing(path,
                   "the transform is more than one field and what follows it linearly; compose it "
                   "onto one grid first, or write ITK's .h5");
    } else {
      map.field = &std::get<HostField>(step);
    }
  }
  map.grid = map.field ? map.field->geometry
                       : need(context.fixed, path, "fixed", "an affine has no grid of its own");
  return map;
}

HostField field_of_positions(const std::string& path, const Geometry& grid,
                             const std::vector<float>& planes, bool ras,
                             std::vector<std::string>& warnings) {
  const Eigen::Affine3d to_index = grid.world_to_index();
  const std::size_t count = grid.extent.count();
  const double sign = ras ? -1 : 1;
  return make_field(path, grid, warnings, [&](std::size_t voxel, const Eigen::Vector3d& index) {
    const Eigen::Vector3d lps(sign * planes[voxel], sign * planes[count + voxel],
                              planes[2 * count + voxel]);
    return Eigen::Vector3d(to_index * lps - index);
  });
}

std::vector<float> positions_of(const GridMap& map, bool ras) {
  const std::size_t count = map.grid.extent.count();
  std::vector<float> planes(3 * count);
  const double sign = ras ? -1 : 1;
  for_each_index(map.grid.extent, [&](std::size_t voxel, const Eigen::Vector3d& index) {
    const Eigen::Vector3d lps = map.position(voxel, index);
    planes[voxel] = float(sign * lps.x());
    planes[count + voxel] = float(sign * lps.y());
    planes[2 * count + voxel] = float(lps.z());
  });
  return planes;
}

std::vector<std::vector<double>> read_number_rows(const std::string& path) {
  const DecimalPoint numbers;
  constexpr std::uint64_t most_bytes = 1 << 20;  // a matrix, or a long series of them
  if (size_of_readable_file(path) > most_bytes)
    fail_reading(path, "it is too large for a text file of a matrix");
  std::ifstream in(path);
  std::vector<std::vector<double>> rows;
  std::string line;
  while (std::getline(in, line)) {
    line.resize(std::min(line.find('#'), line.size()));
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    std::vector<double> row;
    std::string word;
    while (words >> word) {
      char* end = nullptr;
      row.push_back(std::strtod(word.c_str(), &end));
      if (*end != '\0' || !std::isfinite(row.back()))
        fail_reading(path, "it is no text file of a matrix: a word in it is no finite number");
    }
    if (!row.empty()) rows.push_back(row);
  }
  return rows;
}

Eigen::Affine3d read_matrix_text(const std::string& path) {
  std::vector<double> numbers;
  const auto rows = read_number_rows(path);
  for (const auto& row : rows) {
    if (row.size() != 4 || rows.size() < 3 || rows.size() > 4)
      fail_reading(path, "it is no matrix of four rows of four numbers");
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return matrix_of(path, numbers);
}

Eigen::Affine3d matrix_of(const std::string& path, const std::vector<double>& numbers) {
  if (numbers.size() != 12 && numbers.size() != 16)
    fail_reading(path, "it holds " + std::to_string(numbers.size()) +
                           " numbers, not the 12 or 16 of a matrix");
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  for (std::size_t i = 0; i < 12; ++i)
    affine(Eigen::Index(i / 4), Eigen::Index(i % 4)) = numbers[i];
  for (std::size_t i = 12; i < numbers.size(); ++i)
    if (std::abs(numbers[i] - (i == 15)) > 1e-6)
      fail_reading(path, "the last row of its matrix is not 0 0 0 1");
  if (!affine.matrix().allFinite() || std::abs(affine.linear().determinant()) < 1e-12)
    fail_reading(path, "its matrix is singular or not finite");
  return affine;
}

void write_text(const std::string& path, const std::string& text) {
  const std::array others{".h5", ".hdf5", ".tfm"};  // of ITK's, whose text is another
  if (is_image_format(path) ||
      std::ranges::any_of(others, [&](const char* end) { return has_extension(path, end); }))
    fail_writing(path,
                 "an affine of this format is text, and a name that ends so is not; name it .txt, "
                 ".mat (FLIRT) or .aff12.1D (AFNI)");
  std::ofstream out(path, std::ios::binary);
  if (!out) fail_writing(path, errno);
  out << text;
  out.close();
  if (!out) fail_cut_short(path);
}

void write_matrix_text(const std::string& path, const Eigen::Affine3d& affine,
                       const std::string& heading) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  text << heading;
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 4; ++column)
      text << affine.matrix()(row, column) << (column < 3 ? "  " : "\n");
  write_text(path, text.str());
}

const Geometry& need(const std::optional<Geometry>& geometry, const std::string& path,
                     const char* field, const char* why) {
  if (!geometry) throw GridUnknown("'" + path + "' needs TransformContext::" + field + ": " + why);
  return *geometry;
}

}  // namespace freeflow
