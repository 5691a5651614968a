#include <freeflow/io/transform_check.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <Eigen/LU>

#include <freeflow/io/decimal_point.h>
#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace {

/// The numbers of one of MATLAB's matrices, of doubles or floats.
std::vector<double> matrix_numbers(std::ifstream& in, std::uint64_t count, bool is_double) {
  std::vector<double> numbers(count);
  if (is_double) {
    in.read(reinterpret_cast<char*>(numbers.data()), std::streamsize(count * sizeof(double)));
    return numbers;
  }
  std::vector<float> floats(count);
  in.read(reinterpret_cast<char*>(floats.data()), std::streamsize(count * sizeof(float)));
  numbers.assign(floats.begin(), floats.end());
  return numbers;
}

std::vector<double> text_numbers(const std::string& path, std::istringstream& words) {
  std::vector<double> numbers;
  for (std::string word; words >> word;) {
    char* end = nullptr;
    numbers.push_back(std::strtod(word.c_str(), &end));
    if (*end != '\0') fail_reading(path, "its transform has a number '" + word + "'");
  }
  return numbers;
}

void check_all(const std::string& path, const std::vector<StoredTransform>& transforms) {
  for (const StoredTransform& one : transforms) check_transform_numbers(path, one);
}

}  // namespace

void check_transform_numbers(const std::string& path, const StoredTransform& transform) {
  const std::vector<double>& fixed = transform.fixed;
  for (const double v : fixed)
    if (!std::isfinite(v))
      fail_reading(path, "its " + transform.type + " has a fixed parameter that is not finite");
  const bool spline = is_spline(transform);
  if (!spline && !is_displacement_field(transform)) return;
  const std::string what = spline ? "its B-spline " : "its displacement field ";
  if (fixed.size() != 18)
    fail_reading(path,
                 what + "has " + std::to_string(fixed.size()) + " fixed parameters instead of 18");
  const double least = spline ? 4 : 1, most = 1 << 20;
  double points = 1;
  for (int a = 0; a < 3; ++a) {
    const bool whole = fixed[a] >= least && fixed[a] < most && fixed[a] == std::floor(fixed[a]);
    if (!whole || !(fixed[6 + a] > 0))
      fail_reading(path, what + "has a side of too few points, or a spacing that is not positive");
    points *= fixed[a];
  }
  if (double(transform.parameters.size()) != 3 * points)
    fail_reading(path,
                 what + "does not have three numbers a " + (spline ? "control point" : "voxel"));
  const double volume = Eigen::Map<const Eigen::Matrix3d>(fixed.data() + 9).determinant();
  if (!(std::abs(volume) > 0.1)) fail_reading(path, what + "has axes that span no volume");
}

std::vector<StoredTransform> read_matlab_transforms(const std::string& path, std::uint64_t bytes) {
  std::ifstream in(path, std::ios::binary);
  std::array<std::int32_t, 5> head{};  // type, rows, columns, imaginary, length of the name
  std::vector<StoredTransform> transforms;
  for (std::uint64_t position = 0; position < bytes;) {
    const bool complete = bool(in.read(reinterpret_cast<char*>(head.data()), sizeof head));
    const auto [type, rows, columns, imaginary, name_bytes] = head;
    constexpr std::int32_t limit = 1 << 20;
    const bool plausible = (type == 0 || type == 10) && rows >= 0 && columns >= 0 && rows < limit &&
                           columns < limit && imaginary == 0 && name_bytes > 0 && name_bytes < 256;
    if (!complete || !plausible)
      fail_reading(path,
                   "it is not a MATLAB v4 transform as ITK writes it (an FSL matrix must be "
                   "converted first)");
    std::string name(std::size_t(name_bytes), '\0');
    in.read(name.data(), name_bytes);
    name.resize(std::min(name.find('\0'), name.size()));
    if (is_displacement_field({name, {}, {}}))
      fail_reading(path, "it holds a displacement field; write that as .nii.gz or .h5");
    const std::uint64_t count = std::uint64_t(rows) * std::uint64_t(columns);
    position += sizeof head + std::uint64_t(name_bytes) + count * (type == 0 ? 8 : 4);
    if (position > bytes) fail_reading(path, "the file ends within its numbers");
    std::vector<double> numbers = matrix_numbers(in, count, type == 0);
    if (name == "fixed" && !transforms.empty())
      transforms.back().fixed = std::move(numbers);
    else
      transforms.push_back({name, {}, std::move(numbers)});
  }
  check_all(path, transforms);
  return transforms;
}

std::vector<StoredTransform> read_text_transforms(const std::string& path) {
  const DecimalPoint with_points;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  if (!line.starts_with("#Insight Transform File"))
    fail_reading(path, "it is not an ITK transform file ('#Insight Transform File')");
  std::vector<StoredTransform> transforms;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "Transform:") {
      words >> transforms.emplace_back().type;
    } else if (key == "Parameters:" || key == "FixedParameters:") {
      if (transforms.empty()) fail_reading(path, "it has numbers before it names a transform");
      (key == "Parameters:" ? transforms.back().parameters : transforms.back().fixed) =
          text_numbers(path, words);
    }
  }
  check_all(path, transforms);
  return transforms;
}

}  // namespace freeflow
