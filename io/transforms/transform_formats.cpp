#include <freeflow/io/transforms/transform_formats.h>

#include <algorithm>
#include <fstream>

#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/transforms/afni.h>
#include <freeflow/io/transforms/elastix.h>
#include <freeflow/io/transforms/freesurfer.h>
#include <freeflow/io/transforms/fsl.h>
#include <freeflow/io/transforms/itk.h>
#include <freeflow/io/transforms/mrtrix.h>
#include <freeflow/io/transforms/niftyreg.h>
#include <freeflow/io/transforms/spm.h>
#include <freeflow/io/transforms/vector_nifti.h>

namespace freeflow {

namespace {

struct Entry {
  TransformFormatInfo info;
  HostTransform (*read)(const std::string&, const TransformContext&);
  void (*write)(const std::string&, const HostTransform&, const TransformContext&);
};

constexpr std::array<Entry, transform_format_count> table{{
    {{TransformFormat::itk, "itk",
      ".mat .tfm .txt .h5; displacements in .nii .nii.gz .mha .mhd .nrrd .nhdr",
      ".mat .tfm .txt (affine), .h5 (any chain), .nii .nii.gz .mha .nrrd (one field)"},
     read_itk,
     write_itk},
    {{TransformFormat::fsl, "fsl",
      "FLIRT .mat; FNIRT fields, relative and absolute; FNIRT spline coefficients",
      "FLIRT .mat; FNIRT fields (.nii .nii.gz)"},
     read_fsl,
     write_fsl},
    {{TransformFormat::niftyreg, "niftyreg",
      "affine text; deformation and displacement fields; cubic and linear spline grids",
      "affine text; deformation fields (.nii .nii.gz)"},
     read_niftyreg,
     write_niftyreg},
    {{TransformFormat::spm, "spm", "deformations (y_*.nii)", "deformations (.nii .nii.gz)"},
     read_spm,
     write_spm},
    {{TransformFormat::afni, "afni", ".aff12.1D of one row, 3 x 4 .1D; warps (.nii .nii.gz)",
      ".aff12.1D; warps (.nii .nii.gz)"},
     read_afni,
     write_afni},
    {{TransformFormat::freesurfer, "freesurfer", ".lta (voxels or RAS), .m3z .m3d", ".lta (RAS)"},
     read_freesurfer,
     write_freesurfer},
    {{TransformFormat::mrtrix, "mrtrix", "affine text; deformation warps (.nii .nii.gz)",
      "affine text; deformation warps (.nii .nii.gz)"},
     read_mrtrix,
     write_mrtrix},
    {{TransformFormat::elastix, "elastix",
      "TransformParameters.*.txt and the initial ones they name: linear and cubic B-splines",
      "TransformParameters.*.txt (affine)"},
     read_elastix,
     write_elastix},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (std::size_t(table[i].info.format) != i) return false;
  return true;
}
static_assert(in_order(), "a format lacks its line in the table");

const Entry& entry(TransformFormat format) { return table[std::size_t(format)]; }

std::string first_bytes(const std::string& path, std::size_t count) {
  std::string bytes(count, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), std::streamsize(count));
  bytes.resize(std::size_t(in.gcount()));
  return bytes;
}

std::optional<TransformFormat> detect_nifti(const std::string& path) {
  const VectorNifti file = read_vector_header(path);
  const NiftiHeader& header = file.header;
  if (header.intent_name.starts_with("NREG")) return TransformFormat::niftyreg;
  if (header.intent_code >= 2006 && header.intent_code <= 2009) return TransformFormat::fsl;
  if (header.intent_name == "Mapping") return TransformFormat::spm;
  if (file.by_afni) return TransformFormat::afni;
  // What reads it looks at the values, too: SPM's fields have this shape and intent.
  constexpr int nifti_intent_vector = 1007;
  if (file.five_dimensional() && header.intent_code == nifti_intent_vector)
    return TransformFormat::itk;
  return std::nullopt;
}

/// Numbers of a file may be finite and their product or inverse not.
void require_usable(const std::string& path, const HostTransform& transform) {
  for (const auto& step : transform.steps) {
    const auto* affine = std::get_if<Eigen::Affine3d>(&step);
    if (affine && (!affine->matrix().allFinite() || affine->linear().determinant() == 0))
      fail_reading(path, "its matrix is singular or not finite");
  }
}

/// Comments name folders, in any language.
bool is_text(const std::string& bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](unsigned char c) { return (c >= ' ' && c != 127) || (c >= 9 && c <= 13); });
}

}  // namespace

const std::array<TransformFormatInfo, transform_format_count>& transform_formats() {
  static const auto infos = [] {
    std::array<TransformFormatInfo, transform_format_count> all;
    std::transform(table.begin(), table.end(), all.begin(), [](const Entry& e) { return e.info; });
    return all;
  }();
  return infos;
}

std::optional<TransformFormat> parse_transform_format(const std::string& word) {
  for (const Entry& one : table)
    if (word == one.info.word) return one.info.format;
  return std::nullopt;
}

std::optional<TransformFormat> detect(const std::string& path) {
  size_of_readable_file(path);
  for (const char* extension : {".h5", ".hdf5", ".tfm"})
    if (has_extension(path, extension)) return TransformFormat::itk;
  for (const char* extension : {".lta", ".m3z", ".m3d"})
    if (has_extension(path, extension)) return TransformFormat::freesurfer;
  if (has_extension(path, ".1d")) return TransformFormat::afni;
  if (is_nifti(path)) return detect_nifti(path);
  if (is_image_format(path)) return TransformFormat::itk;
  const std::string head = first_bytes(path, 4096);
  if (!is_text(head))
    return has_extension(path, ".mat") ? std::optional(TransformFormat::itk) : std::nullopt;
  if (head.starts_with("#Insight Transform File")) return TransformFormat::itk;
  if (head.find("(Transform \"") != std::string::npos || head.starts_with("("))
    return TransformFormat::elastix;
  if (has_extension(path, ".mat")) return TransformFormat::fsl;
  if (head.find("mrtrix") != std::string::npos || head.find("command_history") != std::string::npos)
    return TransformFormat::mrtrix;
  return std::nullopt;
}

std::string said_of_unread(const std::string& path) {
  const std::string head = first_bytes(path, 4096);
  constexpr std::size_t preamble = 128;
  if (head.size() > preamble + 4 && head.compare(preamble, 4, "DICM") == 0)
    return "it is DICOM, which is not read; convert images with dcm2niix, and save a transform as "
           ".h5 with 3D Slicer";
  if (head.find("<MRML") != std::string::npos)
    return "it is a scene of 3D Slicer, which is not read; save the transform itself there, as .h5";
  if (head.starts_with("MNI Transform File"))
    return "it is an .xfm of MINC, which is not read; let lta_convert --inmni make an .lta of it";
  if (has_extension(path, ".mnc"))
    return "MINC's images are not read; let mnc2nii make a .nii.gz of it";
  // A subject's name comes first; other files of that name may hold a matrix.
  if (has_extension(path, ".dat") && is_text(head) &&
      head.find_first_not_of("0123456789+-. \t\r\n") == 0)
    return "it is FreeSurfer's register.dat, which is not read; let lta_convert --inreg make an "
           ".lta of it";
  return "";
}

/// FLIRT and its tools put two blanks after each number, Greedy and c3d one.
bool may_be_greedys(const std::string& path) {
  if (!has_extension(path, ".mat")) return false;
  const std::string head = first_bytes(path, 4096);
  return head.find_first_of("0123456789") != std::string::npos &&
         head.find("  ") == std::string::npos;
}

HostTransform read_transform_file(const std::string& path, std::optional<TransformFormat> format,
                                  const TransformContext& context) {
  const bool guessed = !format;
  if (guessed) format = detect(path);
  if (!format || *format == TransformFormat::freesurfer)  // whose tools write some of them
    if (const std::string way_out = said_of_unread(path); !way_out.empty())
      fail_reading(path, way_out);
  if (!format)
    fail_reading(path, is_nifti(path)
                           ? "its header does not say whose transform it is (FSL, MRtrix, SPM, "
                             "AFNI); name the TransformFormat"
                           : "it does not say whose transform it is (FSL, NiftyReg, MRtrix); name "
                             "the TransformFormat");
  HostTransform transform = entry(*format).read(path, context);
  require_usable(path, transform);
  if (guessed && *format == TransformFormat::fsl && may_be_greedys(path))
    transform.warnings.push_back(
        "'" + path +
        "' is taken as FLIRT's; Greedy's and c3d's matrices look alike, and those are read as "
        "NiftyReg's are (regtool convert --from niftyreg)");
  return transform;
}

std::vector<std::string> write_transform_file(const std::string& path, TransformFormat format,
                                              const HostTransform& transform,
                                              const TransformContext& context) {
  entry(format).write(path, transform, context);
  if (format == TransformFormat::afni) return said_of_written_afni(path, context);
  return {};
}

}  // namespace freeflow
