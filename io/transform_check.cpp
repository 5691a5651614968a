#include <freeflow/io/transform_check.h>

#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

#include <Eigen/LU>

#include <freeflow/io/file_checks.h>

namespace freeflow {

void check_transform_numbers(const std::string& path, const std::string& type,
                             const std::vector<double>& fixed, std::uint64_t parameters) {
  for (const double v : fixed)
    if (!std::isfinite(v))
      fail_reading(path, "its " + type + " has a fixed parameter that is not finite");
  if (type.rfind("DisplacementField", 0) != 0) return;
  if (fixed.size() != 18)
    fail_reading(path, "its displacement field has " + std::to_string(fixed.size()) +
                           " fixed parameters instead of 18");
  constexpr double most = 1 << 20;
  double voxels = 1;
  for (int a = 0; a < 3; ++a) {
    const bool whole = fixed[a] >= 1 && fixed[a] < most && fixed[a] == std::floor(fixed[a]);
    if (!whole || !(fixed[6 + a] > 0))
      fail_reading(
          path,
          "its displacement field has a side of no voxels, or a spacing that is not positive");
    voxels *= fixed[a];
  }
  if (double(parameters) != 3 * voxels)
    fail_reading(path, "its displacement field does not have three numbers a voxel");
  const double volume = Eigen::Map<const Eigen::Matrix3d>(fixed.data() + 9).determinant();
  if (!(std::abs(volume) > 0.1))
    fail_reading(path, "its displacement field has axes that span no volume");
}

void check_matlab_transform(const std::string& path, std::uint64_t bytes) {
  // ITK allocates whatever size is declared: every matrix must lie within the file and be one of
  // doubles or floats.
  std::ifstream in(path, std::ios::binary);
  std::array<std::int32_t, 5> head{};  // type, rows, columns, imaginary, length of the name
  std::uint64_t position = 0;
  while (position < bytes) {
    in.seekg(std::streamoff(position));
    const bool complete = bool(in.read(reinterpret_cast<char*>(head.data()), sizeof head));
    const auto [type, rows, columns, imaginary, name_bytes] = head;
    constexpr std::int32_t limit = 1 << 20;
    const bool plausible = (type == 0 || type == 10) && rows > 0 && columns > 0 && rows < limit &&
                           columns < limit && imaginary == 0 && name_bytes > 0 && name_bytes < 256;
    if (!complete || !plausible)
      fail_reading(path,
                   "it is not a MATLAB v4 transform as ITK writes it (an FSL matrix must be "
                   "converted first)");
    std::string name(std::size_t(name_bytes), '\0');
    in.read(name.data(), name_bytes);
    if (name.rfind("DisplacementField", 0) == 0)
      fail_reading(path, "it holds a displacement field; write that as .nii.gz or .h5");
    position += sizeof head + std::uint64_t(name_bytes) +
                std::uint64_t(rows) * std::uint64_t(columns) * (type == 0 ? 8 : 4);
  }
  if (position > bytes) fail_reading(path, "the file ends within its numbers");
}

void check_text_transform(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  if (line.rfind("#Insight Transform File", 0) != 0)
    fail_reading(path, "it is not an ITK transform file ('#Insight Transform File')");
  std::string type;
  std::uint64_t parameters = 0;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key, word;
    words >> key;
    if (key == "Transform:") {
      words >> type;
      parameters = 0;
    } else if (key == "Parameters:") {
      while (words >> word) ++parameters;
    } else if (key == "FixedParameters:") {
      std::vector<double> fixed;
      while (words >> word) fixed.push_back(std::strtod(word.c_str(), nullptr));
      check_transform_numbers(path, type, fixed, parameters);
    }
  }
}

}  // namespace freeflow
