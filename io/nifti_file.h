// Private to io: NIfTI files of both versions, header and voxels. ITK 5 turns NaN into 0 and does
// not notice a .nii.gz that ends early, so the voxels do not pass through it; which of sform and
// qform holds is left to ITK in NIfTI-1 in millimetres (orientation.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Geometry>

#include <freeflow/core/views.h>
#include <freeflow/io/byte_source.h>
#include <freeflow/io/nifti_fields.h>
#include <freeflow/io/stored_type.h>

namespace freeflow {

struct NiftiHeader {
  int version = 1;
  std::string path;                                       // as the user named the file
  std::string header_path;                                // .nii, .nii.gz or .hdr
  std::string data_path;                                  // the same, or .img or .img.gz
  std::array<std::int64_t, 7> size{1, 1, 1, 1, 1, 1, 1};  // x, y, z, time, component, ...
  int dimensions = 0;
  StoredType stored_type = StoredType::float32;
  int colour_channels = 1;          // 3 for RGB and 4 for RGBA of bytes, which follow each other
  double slope = 1, intercept = 0;  // value = slope * stored + intercept
  int intent_code = 0;
  std::array<float, 3> intent_p{};
  std::string intent_name;
  std::array<float, 4> step{};                          // of the dimensions after x, y, z
  unsigned char units = 2;                              // of lengths and times, as they stand there
  double mm_per_unit = 1;                               // of length; below all is in millimetres
  int qform_code = 0, sform_code = 0;                   // where 0, the matrix says nothing
  Eigen::Affine3d qform = Eigen::Affine3d::Identity();  // voxel index to LPS millimetres
  Eigen::Affine3d sform = Eigen::Affine3d::Identity();
  Eigen::Vector3d voxel_size = Eigen::Vector3d::Ones();  // pixdim, whatever its signs
  std::uint64_t data_offset = 0;
  bool swapped = false;  // the other byte order

  const char* length_unit() const;
  Extent extent() const { return {int(size[0]), int(size[1]), int(size[2])}; }
  /// Number of values: voxels times volumes times components times channels.
  std::uint64_t value_count() const;
};

/// What stands in a NIfTI file's header, and of what it says all but the type of the voxels and
/// where in the file they are: so voxels may be of any kind. Throws IoError when the file is no
/// NIfTI or its sizes, qform or sform are no use.
struct NiftiStart {
  NiftiHeader header;
  NiftiFields fields;
};
NiftiStart read_nifti_start(const std::string& path);

enum class NiftiColours { refused, taken };

/// Throws IoError when the file is no NIfTI, when its voxels are not real numbers or when it is
/// too small for what it declares.
NiftiHeader read_nifti_header(const std::string& path,
                              NiftiColours colours = NiftiColours::refused);

/// For what holds lengths among its values, too. Throws IoError where they are in another unit.
void require_millimetres(const NiftiHeader& header);

/// The values one after the other, as they are stored but in this machine's byte order.
class NiftiStream {
 public:
  explicit NiftiStream(const NiftiHeader& header);
  /// Throws IoError when they are not all there or the compressed data are damaged.
  void read(void* target, std::size_t count);
  /// After the last: throws IoError when the checksum is wrong or missing.
  void finish();

 private:
  NiftiHeader header_;
  ByteSource source_;
  std::uint64_t done_ = 0;
};

/// All values in the file's order (x fastest, components slowest), scaled. Decompresses the whole
/// file once. Throws IoError when the values are not all there or the compressed data are damaged.
std::vector<float> read_nifti_values(const NiftiHeader& header);

/// The same as the bytes of the stored type, in this machine's byte order and not scaled.
std::vector<unsigned char> read_nifti_bytes(const NiftiHeader& header);

}  // namespace freeflow
