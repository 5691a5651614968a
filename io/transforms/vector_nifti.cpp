#include <freeflow/io/transforms/vector_nifti.h>

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include <freeflow/core/geometry.h>
#include <freeflow/io/byte_order.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/orientation.h>
#include <freeflow/io/parallel_gzip.h>

namespace freeflow {

namespace {

constexpr std::size_t header_bytes = 348;
constexpr int afni_extension = 4;

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

std::string vector_header(const Geometry& grid, const VectorStyle& style) {
  std::string bytes(header_bytes + 4, '\0');
  put<std::int32_t>(bytes, 0, std::int32_t(header_bytes));
  const bool five = style.dimensions == 5;
  const std::array<int, 8> dim{style.dimensions,
                               grid.extent.x,
                               grid.extent.y,
                               grid.extent.z,
                               five ? 1 : 3,
                               five ? 3 : 1,
                               1,
                               1};
  for (std::size_t i = 0; i < 8; ++i) put<std::int16_t>(bytes, 40 + 2 * i, std::int16_t(dim[i]));
  put<float>(bytes, 56, style.intent_p1);
  put<std::int16_t>(bytes, 68, std::int16_t(style.intent_code));
  put<std::int16_t>(bytes, 70, 16);  // float32
  put<std::int16_t>(bytes, 72, 32);
  Eigen::Matrix4d ras = grid.index_to_world().matrix();
  ras.topRows<2>() *= -1;
  Eigen::Matrix3d rotation = grid.direction;
  rotation.topRows<2>() *= -1;
  const bool left_handed = rotation.determinant() < 0;
  if (left_handed) rotation.col(2) *= -1;
  Eigen::Quaterniond q(rotation);
  q.normalize();
  if (q.w() < 0) q.coeffs() *= -1;  // the header keeps b, c, d and takes a as positive
  put<float>(bytes, 76, left_handed ? -1.f : 1.f);
  for (int axis = 0; axis < 3; ++axis) {
    const auto i = std::size_t(axis);
    put<float>(bytes, 80 + 4 * i, float(grid.spacing[axis]));
    put<float>(bytes, 92 + 4 * i, 1.f);
    put<float>(bytes, 256 + 4 * i, float(q.vec()[axis]));
    put<float>(bytes, 268 + 4 * i, float(ras(axis, 3)));
    for (int column = 0; column < 4; ++column)
      put<float>(bytes, 280 + 16 * i + 4 * std::size_t(column), float(ras(axis, column)));
  }
  put<float>(bytes, 108, float(header_bytes + 4));
  put<float>(bytes, 112, 1.f);
  bytes[123] = 2;  // millimetres
  put<std::int16_t>(bytes, 252, 1);
  put<std::int16_t>(bytes, 254, 1);
  std::memcpy(bytes.data() + 328, style.intent_name.data(),
              std::min<std::size_t>(style.intent_name.size(), 15));
  std::memcpy(bytes.data() + 344, "n+1", 4);
  return bytes;
}

}  // namespace

Geometry vector_grid(const VectorNifti& file, std::vector<std::string>& warnings) {
  const NiftiHeader& header = file.header;
  Geometry grid;
  grid.extent = header.extent();
  if (header.sform_code <= 0 && header.qform_code <= 0) {
    warnings.push_back("'" + header.path +
                       "' has neither sform nor qform: its axes are taken as left, posterior, "
                       "superior from origin 0");
    grid.spacing = {file.pixdim[0], file.pixdim[1], file.pixdim[2]};
  } else {
    const Eigen::Affine3d& to_world = header.sform_code > 0 ? header.sform : header.qform;
    grid.spacing = to_world.linear().colwise().norm().transpose();
    grid.origin = to_world.translation();
    grid.direction = to_world.linear() * grid.spacing.cwiseInverse().asDiagonal();
  }
  make_orthonormal(header.path, grid, warnings);
  const Eigen::Vector3d last(grid.extent.x - 1, grid.extent.y - 1, grid.extent.z - 1);
  if (header.sform_code > 0 && header.qform_code > 0) {
    const Eigen::Affine3d apart = header.qform.inverse() * header.sform;
    const double voxels = std::max((apart * last - last).norm(), apart.translation().norm());
    if (!(voxels < 0.05))
      warnings.push_back("'" + header.path +
                         "': qform and sform differ; the sform is taken, as FSL and SPM do, but "
                         "ITK takes the qform of such images");
  }
  return grid;
}

bool is_nifti(const std::string& path) {
  return is_image_format(path) && format_to_read(path) == FileFormat::nifti;
}

VectorNifti read_vector_header(const std::string& path) {
  VectorNifti file;
  file.header = read_nifti_header(path);
  unsigned char raw[header_bytes + 12] = {};  // and the first extension: size, code
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.header.header_path.c_str(), "rb"),
                                                      &gzclose);
  if (!in || gzread(in.get(), raw, sizeof raw) < int(header_bytes))
    fail_reading(path, "it ends within its header");
  const bool swapped = file.header.swapped;
  for (std::size_t i = 0; i < 3; ++i) {
    file.intent_p[i] = load<float>(raw + 56 + 4 * i, swapped);
    file.pixdim[i] = load<float>(raw + 80 + 4 * i, swapped);
    file.qform_offset[i] = load<float>(raw + 268 + 4 * i, swapped);
  }
  file.by_afni = raw[header_bytes] != 0 &&
                 load<std::int32_t>(raw + header_bytes + 8, swapped) == afni_extension;
  return file;
}

VectorNifti require_vectors(const std::string& path) {
  VectorNifti file = read_vector_header(path);
  if (!file.four_dimensional() && !file.five_dimensional())
    fail_reading(path, "it is no field of 3-vectors (x, y, z, 3 or x, y, z, 1, 3)");
  require_volume(path, file.header.extent());
  return file;
}

void write_vectors(const std::string& path, const Geometry& grid, const std::vector<float>& planes,
                   const VectorStyle& style) {
  const bool compressed = has_extension(path, ".nii.gz");
  if (!compressed && !has_extension(path, ".nii"))
    fail_writing(path, "fields of this format are written as .nii or .nii.gz");
  grid.validate("the grid to write");
  if (std::max({grid.extent.x, grid.extent.y, grid.extent.z}) > 32767)
    fail_writing(path, "NIfTI-1 holds at most 32767 voxels along a side; crop the grid");
  const std::string plain = compressed ? path + ".tmp.nii" : path;
  {
    std::ofstream out(plain, std::ios::binary);
    out << vector_header(grid, style);
    out.write(reinterpret_cast<const char*>(planes.data()),
              std::streamsize(planes.size() * sizeof(float)));
    out.close();
    if (!out) {
      std::error_code ignored;
      std::filesystem::remove(plain, ignored);
      fail_writing(path, "its folder is missing or not writable, or the disk is full");
    }
  }
  if (!compressed) return;
  try {
    gzip_file(plain, path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(plain, ignored);
    throw;
  }
  std::filesystem::remove(plain);
}

}  // namespace freeflow
