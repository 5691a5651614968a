#include <freeflow/io/voxel_writer.h>

#include <cstring>
#include <vector>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/nifti_writer.h>
#include <freeflow/io/other_formats.h>

namespace freeflow {

namespace {

NiftiLayout layout_of(int components, StoredType type) {
  constexpr int vectors = 1007;
  NiftiLayout layout;
  layout.stored_type = type;
  if (components > 1) {
    layout.dimensions = 5;
    layout.size[1] = components;
    layout.intent_code = vectors;
  }
  return layout;
}

}  // namespace

void write_voxels(const std::string& path, const Geometry& geometry, int components,
                  StoredType type, const void* planes, const Compression& compression) {
  const FileFormat format = format_to_write(path);
  geometry.validate("the grid to write");
  const std::size_t count = geometry.extent.count(), value_bytes = bytes_of(type);
  if (format == FileFormat::nifti) {
    NiftiWriter writer(path, geometry, layout_of(components, type), compression);
    writer.write(planes, count * std::size_t(components) * value_bytes);
    writer.close();
    return;
  }
  const StoredLayout layout{geometry, components, type};
  require_storable(path, format, layout);
  if (components == 1) return write_stored_image(path, format, layout, planes, compression);
  const std::vector<unsigned char> voxels =
      interleaved(static_cast<const unsigned char*>(planes), count, components, value_bytes);
  write_stored_image(path, format, layout, voxels.data(), compression);
}

void write_vectors(const std::string& path, const Geometry& geometry, const ByteMaker& make,
                   const Compression& compression) {
  constexpr int components = 3;
  const std::size_t bytes = components * sizeof(float) * geometry.extent.count();
  if (format_to_write(path) == FileFormat::nifti) {
    NiftiWriter writer(path, geometry, layout_of(components, StoredType::float32), compression);
    writer.write_made(bytes, make);
    writer.close();
    return;
  }
  std::vector<unsigned char> planes(bytes);
  make(0, bytes, planes.data());
  write_voxels(path, geometry, components, StoredType::float32, planes.data(), compression);
}

std::vector<unsigned char> interleaved(const unsigned char* planes, std::size_t count,
                                       int components, std::size_t value_bytes) {
  const auto width = std::size_t(components);
  std::vector<unsigned char> voxels(count * width * value_bytes);
  for (std::size_t component = 0; component < width; ++component)
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(voxels.data() + (i * width + component) * value_bytes,
                  planes + (component * count + i) * value_bytes, value_bytes);
  return voxels;
}

}  // namespace freeflow
