#include <freeflow/io/mgh_file.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <freeflow/io/byte_order.h>
#include <freeflow/io/byte_sink.h>
#include <freeflow/io/byte_source.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/fresh_memory.h>

namespace freeflow {

namespace {

constexpr std::size_t mgh_header_bytes = 284;
constexpr bool mgh_swapped = std::endian::native == std::endian::little;

constexpr std::pair<int, StoredType> mgh_types[] = {{0, StoredType::uint8},
                                                    {1, StoredType::int32},
                                                    {3, StoredType::float32},
                                                    {4, StoredType::int16},
                                                    {10, StoredType::uint16}};

struct MghHeader {
  std::string path;
  Geometry geometry;
  int volumes = 1;
  StoredType stored_type = StoredType::float32;
  std::vector<std::string> warnings;

  std::uint64_t value_count() const { return geometry.extent.count() * std::uint64_t(volumes); }
};

using MghBytes = std::array<unsigned char, mgh_header_bytes>;

StoredType type_of_code(const std::string& path, int code) {
  for (const auto& [known, type] : mgh_types)
    if (known == code) return type;
  fail_reading(path, "its MGH data type " + std::to_string(code) +
                         " is not supported; save it as float (mri_convert -odt float)");
}

/// RAS, or without one what FreeSurfer takes: coronal slices of 1 mm about 0.
void parse_mgh_orientation(MghHeader& header, const MghBytes& raw) {
  constexpr int flag = 28, spacing = 30, axes = 42, centre = 78;
  const auto real = [&](int offset) {
    return double(load<float>(raw.data() + offset, mgh_swapped));
  };
  Geometry& grid = header.geometry;
  Eigen::Matrix3d ras;
  ras << -1, 0, 0, 0, 0, 1, 0, -1, 0;
  Eigen::Vector3d middle = Eigen::Vector3d::Zero();
  if (load<std::int16_t>(raw.data() + flag, mgh_swapped) != 0) {
    constexpr double largest_mm = 1e9;  // farther off, products overflow as well
    for (int offset = spacing; offset < centre + 12; offset += 4)
      if (!(std::abs(real(offset)) < largest_mm))
        fail_reading(header.path, "its header declares a position that is not finite");
    for (int axis = 0; axis < 3; ++axis) {
      grid.spacing[axis] = real(spacing + 4 * axis);
      middle[axis] = real(centre + 4 * axis);
      for (int row = 0; row < 3; ++row) ras(row, axis) = real(axes + 12 * axis + 4 * row);
    }
  } else {
    header.warnings.push_back("'" + header.path +
                              "' declares no orientation; it is taken to be coronal with voxels of "
                              "1 mm, as FreeSurfer takes it");
  }
  const Eigen::DiagonalMatrix<double, 3> to_lps(-1, -1, 1);
  grid.direction = to_lps * ras;
  const Eigen::Vector3d half = 0.5 * Eigen::Vector3d(grid.extent.x, grid.extent.y, grid.extent.z);
  grid.origin = to_lps * middle - grid.direction * grid.spacing.cwiseProduct(half);
}

MghHeader parse_mgh(const std::string& path, const MghBytes& raw) {
  const auto integer = [&](int offset) {
    return load<std::int32_t>(raw.data() + offset, mgh_swapped);
  };
  const int version = integer(0);
  if ((version & 0xff) != 1) fail_reading(path, "it is not an MGH file");
  constexpr int warp = 3, inverse_warp = 4;  // of the intents that newer files name, a label's too
  if (const int intent = version >> 8; intent == warp || intent == inverse_warp)
    fail_reading(path, "it is a warp of FreeSurfer, not an image; mri_warp_convert writes .m3z");
  MghHeader header;
  header.path = path;
  const std::array<std::int64_t, 3> size{integer(4), integer(8), integer(12)};
  header.volumes = integer(16);
  count_voxels(path, size);
  count_voxels(path, std::array{size[0], size[1], size[2], std::int64_t(header.volumes)});
  header.geometry.extent = {int(size[0]), int(size[1]), int(size[2])};
  header.stored_type = type_of_code(path, integer(20));
  parse_mgh_orientation(header, raw);
  return header;
}

/// The header, after which the source stands at the first voxel.
MghHeader read_mgh_start(ByteSource& source, const std::string& path) {
  MghBytes raw;
  if (source.read(raw.data(), raw.size()) < raw.size())
    fail_reading(path, "it ends within its header or is not an MGH file");
  MghHeader header = parse_mgh(path, raw);
  const std::uint64_t stored = size_of_readable_file(path);
  check_size(path, header.value_count(), bytes_of(header.stored_type),
             stored - (source.compressed() ? 0 : mgh_header_bytes), source.compressed());
  return header;
}

constexpr double milliseconds = 1000;  // in a second

/// What may follow the voxels: the time from volume to volume first.
double read_mgh_step(ByteSource& source) {
  std::array<unsigned char, sizeof(float)> raw;
  if (source.read(raw.data(), raw.size()) < raw.size()) return 1;
  const double step = load<float>(raw.data(), mgh_swapped) / milliseconds;
  return usable_step(step) ? step : 1;
}

template <class T>
void put_swapped(unsigned char* target, T value) {
  std::memcpy(target, &value, sizeof value);
  if (mgh_swapped) reverse_each(target, 1, sizeof value);
}

MghBytes mgh_header_of(const StoredLayout& layout) {
  MghBytes raw{};
  const auto put_at = [&](int offset, auto value) { put_swapped(raw.data() + offset, value); };
  const Geometry& grid = layout.geometry;
  const Extent& n = grid.extent;
  const int code = std::ranges::find(mgh_types, layout.stored_type, [](const auto& type) {
                     return type.second;
                   })->first;
  int offset = 0;
  for (const int value : {1, n.x, n.y, n.z, layout.volumes, code, 0})
    put_at(std::exchange(offset, offset + 4), std::int32_t(value));
  put_at(std::exchange(offset, offset + 2), std::int16_t(1));
  const Eigen::DiagonalMatrix<double, 3> to_ras(-1, -1, 1);
  const Eigen::Matrix3d axes = to_ras * grid.direction;
  const Eigen::Vector3d half = 0.5 * Eigen::Vector3d(n.x, n.y, n.z);
  const Eigen::Vector3d middle =
      to_ras * (grid.origin + grid.direction * grid.spacing.cwiseProduct(half));
  for (const double* from :
       {grid.spacing.data(), axes.data(), axes.data() + 3, axes.data() + 6, middle.data()})
    for (int i = 0; i < 3; ++i) put_at(std::exchange(offset, offset + 4), float(from[i]));
  return raw;
}

}  // namespace

StoredHeader read_mgh_header(const std::string& path) {
  size_of_readable_file(path);
  ByteSource source(path, path);
  MghHeader read = read_mgh_start(source, path);
  StoredHeader header;
  const Extent& n = read.geometry.extent;
  header.size = {n.x, n.y, n.z};
  if (read.volumes > 1) header.size.push_back(read.volumes);
  header.voxels = "scalars";
  for (const auto& [word, type] : stored_type_words)
    if (type == read.stored_type) header.stored_type = word;
  header.geometry = read.geometry;
  header.warnings = std::move(read.warnings);
  return header;
}

StoredImage read_mgh_image(const std::string& path, ImageContent content) {
  size_of_readable_file(path);
  ByteSource source(path, path);
  MghHeader header = read_mgh_start(source, path);
  if (content == ImageContent::one_volume && header.volumes != 1)
    fail_reading(path, "it holds " + std::to_string(header.volumes) +
                           " volumes; extract one of "
                           "them");
  StoredImage image;
  image.geometry = header.geometry;
  image.volumes = header.volumes;
  image.stored_type = header.stored_type;
  image.warnings = std::move(header.warnings);
  const std::uint64_t count = header.value_count();
  const std::size_t value_bytes = bytes_of(header.stored_type);
  image.bytes = zeros<unsigned char>(count * value_bytes);
  const std::size_t present = source.read(image.bytes.data(), image.bytes.size());
  if (present < image.bytes.size()) fail_truncated(path, present / value_bytes, count);
  if (mgh_swapped) reverse_each(image.bytes.data(), count, value_bytes);
  image.step = read_mgh_step(source);
  if (!source.read_to_end())
    fail_reading(path, "file ends within the checksum of its compressed data");
  return image;
}

void require_mgh(const std::string& path, const StoredLayout& layout) {
  if (layout.components != 1)
    fail_writing(path, "MGH files hold neither vectors nor colours; write .nii.gz");
  if (std::ranges::none_of(mgh_types,
                           [&](const auto& t) { return t.second == layout.stored_type; }))
    fail_writing(path,
                 "MGH files hold uint8, int16, uint16, int32 and float32 alone; choose one of "
                 "these types or write .nii.gz");
}

void write_mgh_image(const std::string& path, const StoredLayout& layout,
                     const unsigned char* values, const Compression& compression) {
  require_mgh(path, layout);
  ByteSink sink(path, has_extension(path, ".mgz"), compression);
  const MghBytes header = mgh_header_of(layout);
  sink.write(header.data(), header.size());
  const std::size_t value_bytes = bytes_of(layout.stored_type);
  sink.write_made(layout.geometry.extent.count() * std::size_t(layout.volumes) * value_bytes,
                  [&](std::size_t offset, std::size_t count, unsigned char* target) {
                    std::memcpy(target, values + offset, count);
                    if (mgh_swapped) reverse_each(target, count / value_bytes, value_bytes);
                  });
  if (layout.volumes > 1) {
    std::array<unsigned char, sizeof(float)> step;
    put_swapped(step.data(), float(layout.step * milliseconds));
    sink.write(step.data(), step.size());
  }
  sink.close();
}

}  // namespace freeflow
