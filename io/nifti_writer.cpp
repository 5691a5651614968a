#include <freeflow/io/nifti_writer.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

namespace {

constexpr std::size_t header_bytes = 348;

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

int datatype_of(const NiftiLayout& layout) {
  if (layout.colour_channels > 1) return layout.colour_channels == 3 ? 128 : 2304;
  switch (layout.stored_type) {
    case StoredType::uint8: return 2;
    case StoredType::int16: return 4;
    case StoredType::int32: return 8;
    case StoredType::float32: return 16;
    case StoredType::float64: return 64;
    case StoredType::int8: return 256;
    case StoredType::uint16: return 512;
    case StoredType::uint32: return 768;
    case StoredType::int64: return 1024;
    case StoredType::uint64: return 1280;
  }
  throw InvalidArgument("the stored type is not one of StoredType");
}

void put_orientation(std::string& bytes, const Geometry& grid, bool oriented) {
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
    put<float>(bytes, 256 + 4 * i, float(q.vec()[axis]));
    put<float>(bytes, 268 + 4 * i, float(ras(axis, 3)));
    for (int column = 0; column < 4; ++column)
      put<float>(bytes, 280 + 16 * i + 4 * std::size_t(column), float(ras(axis, column)));
  }
  for (const std::size_t code_of_form : {252, 254})
    put<std::int16_t>(bytes, code_of_form,
                      std::int16_t(oriented ? std::max(1, grid.space_code) : 0));
}

}  // namespace

std::string nifti_header_bytes(const Geometry& grid, const NiftiLayout& layout) {
  std::string bytes(header_bytes + 4, '\0');
  put<std::int32_t>(bytes, 0, std::int32_t(header_bytes));
  bytes[38] = 'r';
  put<std::int16_t>(bytes, 40, std::int16_t(layout.dimensions));
  for (int axis = 0; axis < 3; ++axis)
    put<std::int16_t>(bytes, 42 + 2 * std::size_t(axis), std::int16_t(grid.extent[axis]));
  for (std::size_t i = 0; i < 4; ++i) {
    put<std::int16_t>(bytes, 48 + 2 * i, std::int16_t(layout.size[i]));
    put<float>(bytes, 92 + 4 * i, layout.step[i]);
  }
  for (std::size_t i = 0; i < 3; ++i) put<float>(bytes, 56 + 4 * i, layout.intent_p[i]);
  put<std::int16_t>(bytes, 68, std::int16_t(layout.intent_code));
  put<std::int16_t>(bytes, 70, std::int16_t(datatype_of(layout)));
  put<std::int16_t>(
      bytes, 72,
      std::int16_t(8 * bytes_of(layout.stored_type) * std::size_t(layout.colour_channels)));
  put_orientation(bytes, grid, layout.oriented);
  put<float>(bytes, 108, float(header_bytes + 4));
  put<float>(bytes, 112, float(layout.slope));
  put<float>(bytes, 116, float(layout.intercept));
  bytes[123] = char(layout.units);
  std::memcpy(bytes.data() + 328, layout.intent_name.data(),
              std::min<std::size_t>(layout.intent_name.size(), 15));
  std::memcpy(bytes.data() + 344, "n+1", 4);
  return bytes;
}

namespace {

/// Throws before there is a file.
const std::string& nifti_path(const std::string& path, const Geometry& grid,
                              const NiftiLayout& layout) {
  grid.validate("the grid to write");
  const int longest = std::max({grid.extent.x, grid.extent.y, grid.extent.z,
                                *std::max_element(layout.size.begin(), layout.size.end())});
  if (longest > 32767)
    fail_writing(path, "NIfTI-1 holds at most 32767 voxels along a side; write .mha or .nrrd");
  return path;
}

}  // namespace

NiftiWriter::NiftiWriter(const std::string& path, const Geometry& grid, const NiftiLayout& layout,
                         const Compression& compression)
    : sink_(nifti_path(path, grid, layout), has_extension(path, ".nii.gz"), compression) {
  const std::string header = nifti_header_bytes(grid, layout);
  sink_.write(header.data(), header.size());
}

void NiftiWriter::write(const void* bytes, std::size_t count) { sink_.write(bytes, count); }

void NiftiWriter::write_made(std::size_t count, const ByteMaker& make) {
  sink_.write_made(count, make);
}

void NiftiWriter::close() { sink_.close(); }

}  // namespace freeflow
