#include <freeflow/io/other_formats.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <freeflow/io/fresh_memory.h>
#include <freeflow/io/itk_image_io.h>
#include <freeflow/io/length_unit.h>
#include <freeflow/io/mgh_file.h>
#include <freeflow/io/raw_data_check.h>

namespace freeflow {

namespace {

/// What ITK reads without a word.
void warn_of_header(const std::string& path, FileFormat format,
                    std::vector<std::string>& warnings) {
  warn_of_lengths(path, format, warnings);
  if (format == FileFormat::nrrd) warn_of_nrrd(path, warnings);
}

}  // namespace

StoredHeader read_stored_header(const std::string& path, FileFormat format) {
  if (format == FileFormat::mgh) return read_mgh_header(path);
  check_raw_data(path, format);
  StoredHeader header = read_itk_header(path, format);
  warn_of_header(path, format, header.warnings);
  return header;
}

Geometry stored_geometry(const std::string& path, FileFormat format,
                         std::vector<std::string>& warnings) {
  if (format == FileFormat::mgh) {
    StoredHeader header = read_mgh_header(path);
    std::ranges::move(header.warnings, std::back_inserter(warnings));
    return *header.geometry;
  }
  check_raw_data(path, format);
  const std::optional<Geometry> geometry = itk_geometry(path, format);
  if (!geometry) fail_reading(path, "its direction is not orthonormal");
  warn_of_header(path, format, warnings);
  return *geometry;
}

StoredImage read_stored_image(const std::string& path, FileFormat format, ImageContent content) {
  if (format == FileFormat::mgh) return read_mgh_image(path, content);
  StoredImage image = read_itk_image(path, format, content);
  warn_of_header(path, format, image.warnings);
  return image;
}

FloatImage read_float_image(const std::string& path, FileFormat format) {
  StoredImage read = read_stored_image(path, format);
  FloatImage image{read.geometry, read.components, read.stored_type, {}, std::move(read.warnings)};
  const std::size_t count = image.geometry.extent.count() * std::size_t(image.components);
  image.values = zeros<float>(count);
  with_stored_type(image.stored_type, [&](auto type) {
    const auto* const stored = reinterpret_cast<const decltype(type)*>(read.bytes.data());
    float* const values = image.values.data();
#pragma omp parallel for simd if (count >= worth_sharing)
    for (std::size_t i = 0; i < count; ++i) values[i] = float(stored[i]);
  });
  return image;
}

void require_storable(const std::string& path, FileFormat format, const StoredLayout& layout) {
  if (format == FileFormat::mgh) require_mgh(path, layout);
}

void write_stored_image(const std::string& path, FileFormat format, const StoredLayout& layout,
                        const void* values, const Compression& compression) {
  if (format == FileFormat::mgh)
    write_mgh_image(path, layout, static_cast<const unsigned char*>(values), compression);
  else
    write_itk_image(path, format, layout, values);
}

}  // namespace freeflow
