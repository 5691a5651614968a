#include <freeflow/io/voxel_writer.h>

#include <algorithm>
#include <filesystem>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/itk_image_io.h>
#include <freeflow/io/parallel_gzip.h>

namespace freeflow {

namespace {

/// A file that is gone with its object.
struct TemporaryFile {
  std::string path;
  explicit TemporaryFile(std::string name) : path(std::move(name)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

}  // namespace

void write_voxels(const std::string& path, const Geometry& geometry, int components,
                  StoredType type, const void* values, int threads) {
  const FileFormat format = format_to_write(path);
  geometry.validate("the grid to write");
  const int longest_side = std::max({geometry.extent.x, geometry.extent.y, geometry.extent.z});
  if (format == FileFormat::nifti && longest_side > 32767)
    fail_writing(path, "NIfTI-1 holds at most 32767 voxels along a side; write .mha or .nrrd");
  if (!has_extension(path, ".nii.gz")) {
    write_itk_image(path, format, geometry, components, type, values);
    return;
  }
  const TemporaryFile uncompressed(path + ".tmp.nii");
  write_itk_image(uncompressed.path, format, geometry, components, type, values);
  gzip_file(uncompressed.path, path, threads);
}

}  // namespace freeflow
