#include <freeflow/io/image_file.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/fresh_memory.h>
#include <freeflow/io/nifti_file.h>
#include <freeflow/io/orientation.h>
#include <freeflow/io/other_formats.h>
#include <freeflow/io/stored_voxels.h>
#include <freeflow/io/voxel_writer.h>

namespace freeflow {

namespace {

HostImage read_nifti_image(const std::string& path) {
  const NiftiHeader header = read_nifti_header(path);
  if (header.size[4] != 1)
    fail_reading(path, "its voxels are vectors of " + std::to_string(header.size[4]) +
                           " components; a scalar image is needed");
  if (header.size[3] != 1)
    fail_reading(path,
                 "it holds " + std::to_string(header.size[3]) + " volumes; extract one of them");
  require_volume(path, header.extent());
  HostImage image;
  image.geometry = nifti_geometry(header, image.warnings);
  image.stored_type = header.stored_type;
  image.voxels = read_nifti_values(header);
  return image;
}

HostImage read_other_image(const std::string& path, FileFormat format) {
  FloatImage read = read_float_image(path, format);
  if (read.components != 1)
    fail_reading(path, "its voxels are vectors of " + std::to_string(read.components) +
                           " components; a scalar image is needed");
  require_volume(path, read.geometry.extent);
  HostImage image;
  image.geometry = read.geometry;
  image.warnings = std::move(read.warnings);
  make_orthonormal(path, image.geometry, image.warnings);
  image.stored_type = read.stored_type;
  image.voxels = std::move(read.values);
  return image;
}

/// Makes every voxel that has no finite value NaN, counts them and says so.
void mark_nonfinite(const std::string& path, HostImage& image) {
  // Counted first, which takes several voxels at a time: most images have none.
  constexpr float largest = std::numeric_limits<float>::max();
  const float* const voxel_at = image.voxels.data();
  const std::size_t count = image.voxels.size();
  std::size_t nonfinite = 0;
#pragma omp parallel for simd reduction(+ : nonfinite) if (count >= worth_sharing)
  for (std::size_t i = 0; i < count; ++i) nonfinite += !(std::abs(voxel_at[i]) <= largest);
  if (nonfinite > 0)
    for (float& voxel : image.voxels)
      if (!std::isfinite(voxel)) voxel = std::numeric_limits<float>::quiet_NaN();
  image.nonfinite_voxels = nonfinite;
  if (image.nonfinite_voxels == image.voxels.size())
    throw NothingFinite("cannot read '" + one_line(path) + "': none of its voxels is finite");
  if (image.nonfinite_voxels > 0)
    image.warnings.push_back("'" + path + "': " + std::to_string(image.nonfinite_voxels) + " of " +
                             std::to_string(image.voxels.size()) +
                             " voxels are NaN or infinite and count as outside");
}

}  // namespace

HostImage read_image(const std::string& path) {
  const FileFormat format = format_to_read(path);
  HostImage image =
      format == FileFormat::nifti ? read_nifti_image(path) : read_other_image(path, format);
  mark_nonfinite(path, image);
  return image;
}

namespace {

Geometry geometry_in(const std::string& path, std::vector<std::string>& warnings) {
  const FileFormat format = format_to_read(path);
  if (format == FileFormat::nifti) {
    const NiftiHeader header = read_nifti_header(path, NiftiColours::taken);
    require_volume(path, header.extent());
    return nifti_geometry(header, warnings);
  }
  Geometry geometry = stored_geometry(path, format, warnings);
  require_volume(path, geometry.extent);
  make_orthonormal(path, geometry, warnings);
  return geometry;
}

}  // namespace

Geometry read_geometry(const std::string& path) {
  std::vector<std::string> unsaid;
  return geometry_in(path, unsaid);
}

Geometry read_geometry(const std::string& path, std::vector<std::string>& warnings) {
  std::vector<std::string> found;
  const Geometry geometry = geometry_in(path, found);
  for (const std::string& warning : found)
    if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
  return geometry;
}

Volume<float> to_volume(Context& ctx, const HostImage& image) {
  return Volume<float>(ctx, image.geometry, image.voxels);
}

void write_image(const std::string& path, const Geometry& geometry, std::span<const float> voxels,
                 StoredType type, const Compression& compression) {
  require(voxels.size() == geometry.extent.count(),
          "the number of voxels does not fit the geometry");
  if (type == StoredType::float32)
    return write_voxels(path, geometry, 1, type, voxels.data(), compression);
  const std::vector<unsigned char> stored = from_floats(type, voxels.data(), voxels.size());
  write_voxels(path, geometry, 1, type, stored.data(), compression);
}

}  // namespace freeflow
