// Private to io/transforms: NIfTI files of 3-vectors beyond ITK's displacement fields: the header
// fields that foreign formats use for purposes of their own, and a writer that sets them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <freeflow/core/geometry.h>
#include <freeflow/io/nifti_file.h>

namespace freeflow {

struct VectorNifti {
  NiftiHeader header;
  std::array<double, 3> qform_offset{};  // as it stands there
  bool by_afni = false;                  // carries an extension of AFNI's

  /// (x, y, z, 1, 3), or (x, y, z, 3).
  bool five_dimensional() const { return header.size[3] == 1 && header.size[4] == 3; }
  bool four_dimensional() const { return header.size[3] == 3 && header.size[4] == 1; }
};

/// Throws IoError when the file is no NIfTI (read_nifti_header).
VectorNifti read_vector_header(const std::string& path);
/// The same for what must be 3-vectors on a volume, in millimetres. Throws IoError.
VectorNifti require_vectors(const std::string& path);

/// The grid by the rule of the programs that write such files (FSL, NiftyReg, SPM, nibabel): the
/// sform where there is one, else the qform. ITK's rule differs where both are there and disagree,
/// which is a warning, and its reader refuses images of several volumes. Throws IoError
/// (make_orthonormal).
Geometry vector_grid(const VectorNifti& file, std::vector<std::string>& warnings);

/// For vectors that are places of the world. Throws IoError.
void require_placed(const VectorNifti& file);

struct VectorStyle {
  int dimensions = 5;  // or 4: where the components stand
  int intent_code = 0;
  std::string intent_name;
  float intent_p1 = 0;
  bool oriented = true;  // else with neither sform nor qform
};

/// Planes of components (x fastest, component slowest) as float32, with equal sform and qform;
/// .nii, or .nii.gz by the extension. Throws IoError, for numbers that are not finite too.
void write_vectors(const std::string& path, const Geometry& grid, const std::vector<float>& planes,
                   const VectorStyle& style);

/// True for .nii, .nii.gz and the pairs of .hdr.
bool is_nifti(const std::string& path);

}  // namespace freeflow
