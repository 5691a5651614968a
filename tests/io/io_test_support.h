// What the tests of io share: a folder of their own, hand-made NIfTI files, grids and the check for
// an error's sentence.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <freeflow/core/error.h>
#include <freeflow/core/geometry.h>
#include <freeflow/io/gzip_writer.h>

namespace freeflow::test {

/// A fresh folder that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_((std::filesystem::temp_directory_path() / "freeflow-io-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder");
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline void gzip_file(const std::string& source, const std::string& target, int threads = 0) {
  const std::string bytes = read_bytes(source);
  GzipWriter writer(target, threads);
  writer.write(bytes.data(), bytes.size());
  writer.close();
}

template <class T>
T value_at(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
void put_at(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// A NIfTI-1 header with spacing 1, 2, 3 mm, no orientation, as a .nii file begins (352 bytes).
inline std::string nifti_header(std::vector<int> sizes, int datatype, int bits) {
  std::string bytes(352, '\0');
  put_at<std::int32_t>(bytes, 0, 348);
  put_at<std::int16_t>(bytes, 40, std::int16_t(sizes.size()));
  for (std::size_t axis = 0; axis < 7; ++axis)
    put_at<std::int16_t>(bytes, 42 + 2 * axis, std::int16_t(axis < sizes.size() ? sizes[axis] : 1));
  put_at<std::int16_t>(bytes, 70, std::int16_t(datatype));
  put_at<std::int16_t>(bytes, 72, std::int16_t(bits));
  for (std::size_t axis = 0; axis < 8; ++axis)
    put_at<float>(bytes, 76 + 4 * axis, axis == 0 || axis > 3 ? 1.f : float(axis));
  put_at<float>(bytes, 108, 352.f);
  bytes[123] = 2;
  std::memcpy(bytes.data() + 344, "n+1", 4);
  return bytes;
}

/// Sets the sform: three rows of four, voxel index to RAS millimetres.
inline void put_sform(std::string& bytes, int code, const std::array<float, 12>& rows) {
  put_at<std::int16_t>(bytes, 254, std::int16_t(code));
  for (std::size_t i = 0; i < 12; ++i) put_at<float>(bytes, 280 + 4 * i, rows[i]);
}

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// An oblique, anisotropic grid.
inline Geometry oblique_grid(Extent extent) {
  Geometry geometry;
  geometry.extent = extent;
  geometry.spacing = {0.9, 1.3, 2.5};
  geometry.origin = {-31.5, 12.25, 7};
  geometry.direction = (Eigen::AngleAxisd(0.3, Eigen::Vector3d::UnitX()) *
                        Eigen::AngleAxisd(-0.4, Eigen::Vector3d::UnitY()) *
                        Eigen::AngleAxisd(0.2, Eigen::Vector3d::UnitZ()))
                           .toRotationMatrix();
  return geometry;
}

inline std::vector<float> random_values(std::size_t count, float low, float high) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

inline void expect_same_place(const Geometry& a, const Geometry& b, double tolerance_mm = 1e-4) {
  EXPECT_EQ(a.extent.x, b.extent.x);
  EXPECT_EQ(a.extent.y, b.extent.y);
  EXPECT_EQ(a.extent.z, b.extent.z);
  EXPECT_LT((a.index_to_world().matrix() - b.index_to_world().matrix()).cwiseAbs().maxCoeff(),
            tolerance_mm);
}

/// Runs f and expects an IoError whose sentence contains each of the parts, on one line.
template <class F>
void expect_io_error(F&& f, const std::vector<std::string>& parts) {
  try {
    f();
    ADD_FAILURE() << "no error; expected: " << parts.front();
  } catch (const IoError& error) {
    const std::string sentence = error.what();
    for (const std::string& part : parts)
      EXPECT_NE(sentence.find(part), std::string::npos) << sentence << "\nlacks: " << part;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  }
}

}  // namespace freeflow::test
