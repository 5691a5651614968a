// Private to io: writes NIfTI-1 files, .nii or .nii.gz, a piece at a time.
#pragma once

#include <array>
#include <string>

#include <freeflow/core/geometry.h>
#include <freeflow/io/byte_sink.h>
#include <freeflow/io/stored_type.h>

namespace freeflow {

/// What a header says beside the grid.
struct NiftiLayout {
  int dimensions = 3;
  std::array<int, 4> size{1, 1, 1, 1};  ///< of the dimensions after x, y, z
  StoredType stored_type = StoredType::float32;
  int colour_channels = 1;  ///< 3 for RGB and 4 for RGBA of bytes
  double slope = 1, intercept = 0;
  int intent_code = 0;
  std::array<float, 3> intent_p{};
  std::string intent_name;
  std::array<float, 4> step{};  ///< of the dimensions after x, y, z
  unsigned char units = 2;      ///< millimetres
  bool oriented = true;         ///< else with neither sform nor qform, but with voxel sizes
};

/// The header and the four bytes after it, with equal sform and qform of the grid's space code, or
/// of 1 where that is 0.
std::string nifti_header_bytes(const Geometry& geometry, const NiftiLayout& layout);

class NiftiWriter {
 public:
  /// By the extension. The file appears at close(). Throws IoError for a grid that NIfTI-1 cannot
  /// hold and for a path that cannot be written to.
  NiftiWriter(const std::string& path, const Geometry& geometry, const NiftiLayout& layout,
              const Compression& compression = {});

  /// The next bytes of the voxels. Throws IoError when the disk is full.
  void write(const void* bytes, std::size_t count);
  /// The same of bytes that are made only now (byte_sink.h).
  void write_made(std::size_t count, const ByteMaker& make);
  void close();

 private:
  ByteSink sink_;
};

}  // namespace freeflow
