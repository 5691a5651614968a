// Transform files of other programs, read into and written from a HostTransform: one table of
// formats and the ways in and out. Nothing is resampled: a chain that a format cannot hold as it
// is gets refused. docs/transforms.md says for each format what was proved, and against whom.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow {

enum class TransformFormat {
  /// ITK, ANTs, 3D Slicer, SimpleITK.
  itk,
  /// FLIRT matrices need both images' geometries; FNIRT fields the moving image's; FNIRT
  /// coefficients both.
  fsl,
  /// Spline grids need the fixed image's geometry.
  niftyreg,
  spm,
  /// Affines of oblique images need both geometries.
  afni,
  /// Written with both geometries.
  freesurfer,
  mrtrix,
  /// Its files hold the fixed image's grid; written with it.
  elastix,
};

struct TransformFormatInfo {
  TransformFormat format;
  const char* word;    // on a command line
  const char* reads;   // one line, for people
  const char* writes;  // the same
};

constexpr int transform_format_count = 8;

/// All formats, in the order of the enum.
const std::array<TransformFormatInfo, transform_format_count>& transform_formats();
/// The format of a word of the table; nothing for other words.
std::optional<TransformFormat> parse_transform_format(const std::string& word);

/// The format by the extension and the header, or nothing where these do not decide (a bare 4 x 4
/// matrix in .txt, vectors without an intent). Throws IoError when the file cannot be read.
std::optional<TransformFormat> detect(const std::string& path);

/// What a file is that holds a transform of a program whose files are not read, and the way out:
/// DICOM, scenes of 3D Slicer. Empty for others.
std::string said_of_unread(const std::string& path);

/// Throws IoError when the file is unusable, holds what is not supported, or its format is not
/// clear and not given; InvalidArgument when the format needs a geometry that `context` lacks. What
/// does not follow from the file and was measured or assumed stands in `warnings`.
HostTransform read_transform_file(const std::string& path,
                                  std::optional<TransformFormat> format = {},
                                  const TransformContext& context = {});

/// Writes a matrix or a field by the extension. A chain that the file cannot hold exactly throws
/// IoError; InvalidArgument as for reading. What is written maps points within the grid of the
/// chain's field as the chain does; beyond it every program has a rule of its own. Returns
/// sentences for the user: what could not be known.
std::vector<std::string> write_transform_file(const std::string& path, TransformFormat format,
                                              const HostTransform& transform,
                                              const TransformContext& context = {});

}  // namespace freeflow
