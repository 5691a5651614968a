#include <freeflow/io/image_header.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <utility>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/nifti_file.h>
#include <freeflow/io/orientation.h>
#include <freeflow/io/other_formats.h>

namespace freeflow {

namespace {

struct NiftiType {
  int code, components;
  const char *stored, *voxels;
};
constexpr NiftiType nifti_types[] = {
    {1, 1, "1 bit", "scalars"},
    {2, 1, "uint8", "scalars"},
    {4, 1, "int16", "scalars"},
    {8, 1, "int32", "scalars"},
    {16, 1, "float32", "scalars"},
    {32, 2, "float32", "complex numbers"},
    {64, 1, "float64", "scalars"},
    {128, 3, "uint8", "RGB colours"},
    {256, 1, "int8", "scalars"},
    {512, 1, "uint16", "scalars"},
    {768, 1, "uint32", "scalars"},
    {1024, 1, "int64", "scalars"},
    {1280, 1, "uint64", "scalars"},
    {1536, 1, "float128", "scalars"},
    {1792, 2, "float64", "complex numbers"},
    {2048, 2, "float128", "complex numbers"},
    {2304, 4, "uint8", "RGBA colours"},
};

std::string formatted(const char* format, auto... values) {
  char text[240];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

const std::string unknown_type = "NIfTI data type ";

void describe_values(ImageHeader& header, const NiftiStart& start) {
  const int type = start.fields.datatype;
  header.stored_type = unknown_type + std::to_string(type);
  header.voxels = "scalars";
  for (const NiftiType& known : nifti_types)
    if (known.code == type) {
      header.stored_type = known.stored;
      header.voxels = known.voxels;
      header.components = known.components;
    }
  if (const std::int64_t vectors = start.header.size[4]; vectors > 1) {
    header.components *= int(vectors);
    header.voxels = "vectors";
  }
  header.slope = start.header.slope;
  header.intercept = start.header.intercept;
  header.intent_code = start.header.intent_code;
  header.intent_name = start.header.intent_name;
}

void describe_units(NiftiPlacement& nifti, int code) {
  constexpr std::array<const char*, 4> lengths{"", "m", "mm", "micrometres"};
  constexpr std::array<const char*, 7> times{"", "s", "ms", "microseconds", "Hz", "ppm", "rad/s"};
  const auto length = std::size_t(code & 7), time = std::size_t(code >> 3 & 7);
  if (length < lengths.size()) nifti.length_unit = lengths[length];
  if (time < times.size()) nifti.time_unit = times[time];
}

/// The largest angle by which two axes miss a right one, in degrees.
double shear_degrees(const Eigen::Affine3d& to_world) {
  const Eigen::Matrix3d axes = to_world.linear().colwise().normalized();
  const Eigen::Matrix3d products = axes.transpose() * axes - Eigen::Matrix3d::Identity();
  return std::asin(std::min(1.0, products.cwiseAbs().maxCoeff())) * 180 / std::numbers::pi;
}

constexpr double visible_shear_degrees = 0.06;  // what make_orthonormal repairs begins there

/// ITK's rule (NiftiImageIO, ITK 5.1 and later) read off what it did.
void say_what_was_taken(NiftiPlacement& nifti, bool by_itk, const Geometry& geometry,
                        double apart_mm) {
  const double little = 0.05 * geometry.spacing.minCoeff();
  const bool has_qform = nifti.qform_code > 0, has_sform = nifti.sform_code > 0;
  const Eigen::Affine3d taken = geometry.index_to_world();
  if (!has_qform && !has_sform) {
    nifti.taken = "the voxel sizes alone: neither qform nor sform is set";
  } else if (has_qform != has_sform) {
    nifti.taken = has_qform ? "the qform: the sform is not set" : "the sform: the qform is not set";
  } else if (apart_mm < little) {
    nifti.taken = "qform and sform, which agree";
  } else if (largest_shift_mm(geometry.extent, taken, nifti.sform) <
             largest_shift_mm(geometry.extent, taken, nifti.qform)) {
    nifti.taken = by_itk ? "the sform: by ITK's rule, as it is of code 1 (scanner) or differs "
                           "little, and unsheared"
                         : "the sform: beyond NIfTI-1 in millimetres it counts wherever it is "
                           "unsheared";
  } else if (!by_itk) {
    nifti.taken = "the qform: the sform is sheared";
  } else {
    nifti.taken = "the qform: by ITK's rule, which takes an sform that differs only if it ";
    nifti.taken += nifti.sform_code != 1 ? "is of code 1 (scanner)"
                                         : "is not sheared and its axes are as long as the voxels";
  }
}

void warn_of_disagreement(const std::string& path, ImageHeader& header, double apart_mm) {
  const NiftiPlacement& nifti = *header.nifti;
  if (nifti.sform_code <= 0) return;
  if (!header.geometry || nifti.taken.starts_with("the qform"))  // else reading has said it
    warn_of_voxel_size(path, nifti.voxel_size, nifti.sform, header.warnings);
  if (const double degrees = shear_degrees(nifti.sform); degrees > visible_shear_degrees)
    header.warnings.push_back(
        "'" + path + "': " +
        formatted("the sform is sheared: its axes are %.2f degrees off a right angle; FSL, SPM and "
                  "nibabel keep the shear, ITK and ANTs cannot",
                  degrees));
  if (nifti.qform_code > 0 && header.geometry && nifti.taken.starts_with("the sform"))
    header.warnings.push_back(
        "'" + path + "': " +
        formatted("qform and sform differ; the sform is taken, as FSL, SPM and nibabel do; "
                  "programs that take the qform place voxels up to %.3g mm elsewhere",
                  apart_mm));
}

ImageHeader read_nifti(const std::string& path) {
  const NiftiStart start = read_nifti_start(path);
  ImageHeader header;
  header.format = "NIfTI-" + std::to_string(start.fields.version);
  describe_values(header, start);
  header.size.assign(start.header.size.begin(), start.header.size.end());
  header.size[4] = 1;  // vectors
  while (header.size.size() > 3 && header.size.back() == 1) header.size.pop_back();

  NiftiPlacement& nifti = header.nifti.emplace();
  nifti.qform_code = start.header.qform_code;
  nifti.sform_code = start.header.sform_code;
  nifti.qform = start.header.qform;
  nifti.sform = start.header.sform;
  nifti.voxel_size = start.header.voxel_size.cwiseAbs();
  describe_units(nifti, start.header.units);
  const double apart_mm = nifti.qform_code > 0 && nifti.sform_code > 0
                              ? largest_shift_mm(start.header.extent(), nifti.qform, nifti.sform)
                              : 0;
  try {
    require_volume(path, start.header.extent());
    if (header.stored_type.starts_with(unknown_type))  // of which niftilib has lines of its own
      fail_reading(path, "its " + header.stored_type + " is not supported");
    header.geometry = nifti_geometry(start.header, header.warnings);
    say_what_was_taken(nifti, placed_by_itk(start.header), *header.geometry, apart_mm);
  } catch (const IoError& e) {
    header.refusal = e.what();
  }
  warn_of_disagreement(path, header, apart_mm);
  return header;
}

ImageHeader read_other(const std::string& path, FileFormat format) {
  StoredHeader read = read_stored_header(path, format);
  ImageHeader header;
  header.format = format == FileFormat::metaimage ? "MetaImage"
                  : format == FileFormat::nrrd    ? "NRRD"
                                                  : "MGH";
  header.size = read.size;
  header.components = read.components;
  header.voxels = read.voxels;
  header.stored_type = read.stored_type;
  header.warnings = std::move(read.warnings);
  if (!read.geometry) {
    header.refusal = "cannot read '" + path + "': it has fewer than three dimensions";
    return header;
  }
  try {
    require_volume(path, read.geometry->extent);
    make_orthonormal(path, *read.geometry, header.warnings);
    header.geometry = read.geometry;
  } catch (const IoError& e) {
    header.refusal = e.what();
  }
  return header;
}

}  // namespace

bool ImageHeader::is_scalar_volume() const {
  return geometry && voxels == "scalars" && size.size() == 3;
}

bool is_image_name(const std::string& path) { return is_image_format(path); }

ImageHeader read_image_header(const std::string& path) {
  const FileFormat format = format_to_read(path);
  return format == FileFormat::nifti ? read_nifti(path) : read_other(path, format);
}

}  // namespace freeflow
