// Private to io: what stands in the header of a NIfTI file, whichever of the two versions it is of:
// nifti1.h (348 bytes, floats and shorts) and nifti2.h (540 bytes, doubles and long integers) of
// the NIfTI Data Format Working Group.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <freeflow/io/byte_source.h>

namespace freeflow {

/// The numbers as they stand there, by the standard's names.
struct NiftiFields {
  int version = 1;
  bool swapped = false;               ///< in the other byte order
  std::array<std::int64_t, 8> dim{};  ///< how many there are first
  std::array<double, 8> pixdim{};     ///< the handedness of the qform first
  int datatype = 0;
  double vox_offset = 0, scl_slope = 0, scl_inter = 0;
  int intent_code = 0;
  std::array<double, 3> intent_p{};
  std::string intent_name;
  unsigned char xyzt_units = 0;
  int qform_code = 0, sform_code = 0;
  std::array<double, 6> qform{};   ///< quatern_b to quatern_d, qoffset_x to qoffset_z
  std::array<double, 12> sform{};  ///< srow_x, srow_y, srow_z

  std::uint64_t header_bytes() const { return version == 1 ? 348 : 540; }
};

/// From the first byte on. `path` names the file in sentences. Throws IoError where it is no NIfTI
/// or ends within its header.
NiftiFields read_nifti_fields(ByteSource& source, const std::string& path);

}  // namespace freeflow
