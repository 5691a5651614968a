// What regtool info says of an image.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <apps/regtool/info.h>
#include <freeflow/core/world_axes.h>
#include <freeflow/io/image_file.h>

namespace freeflow::apps {

namespace {

/// The world's axis that each of the grid's runs along best, as the letter of where it leads to,
/// and the largest angle between the two in degrees.
std::string axis_letters(const Eigen::Matrix3d& direction, double& oblique_degrees) {
  constexpr char towards[3][2] = {{'L', 'R'}, {'P', 'A'}, {'S', 'I'}};
  const Eigen::Matrix3d axes = nearest_world_axes(direction);
  std::string letters(3, '?');
  oblique_degrees = 0;
  for (int axis = 0; axis < 3; ++axis) {
    Eigen::Index row = 0;
    axes.col(axis).cwiseAbs().maxCoeff(&row);
    letters[std::size_t(axis)] = towards[row][axes(row, axis) < 0];
    const double cosine = std::min(1.0, std::abs(direction(row, axis)));
    oblique_degrees = std::max(oblique_degrees, std::acos(cosine) * 180 / std::numbers::pi);
  }
  return letters;
}

std::string code_name(int code) {
  constexpr const char* names[] = {"not set",   "scanner", "aligned to another image",
                                   "Talairach", "MNI 152", "another template"};
  std::string text = std::to_string(code);
  text += " (";
  text += code >= 0 && code <= 5 ? names[code] : "unknown";
  return text += ')';
}

std::string joined(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

void print_form(const char* name, int code, const Eigen::Affine3d& form) {
  print_line(name, "code %s%s", code_name(code).c_str(), code > 0 ? ", voxel to mm:" : "");
  if (code > 0) print_matrix("", form);
}

void print_placement(const NiftiPlacement& n) {
  print_form("qform", n.qform_code, n.qform);
  print_form("sform", n.sform_code, n.sform);
  if (!n.taken.empty()) print_line("taken", "%s", n.taken.c_str());
  print_line("units", "%s, %s",
             n.length_unit.empty() ? "none set, taken as mm" : n.length_unit.c_str(),
             n.time_unit.empty() ? "no time" : n.time_unit.c_str());
}

}  // namespace

bool may_be_a_transform(const ImageHeader& header) {
  const bool three_volumes =
      header.voxels == "scalars" && header.size.size() == 4 && header.size[3] == 3;
  return header.nifti && (three_volumes || (header.voxels == "vectors" && header.components == 3));
}

void print_image(const std::string& path, const ImageHeader& header,
                 std::vector<std::string>& warnings) {
  print_line("holds", "an image, %s", header.format.c_str());
  const std::string each =
      header.components > 1 ? " of " + std::to_string(header.components) + " numbers" : "";
  print_line("size", "%s voxels, %zu-D, %s%s", joined(header.size).c_str(), header.size.size(),
             header.voxels.c_str(), each.c_str());
  if (header.slope != 1 || header.intercept != 0)
    print_line("stored as", "%s; value = %g * stored + %g", header.stored_type.c_str(),
               header.slope, header.intercept);
  else
    print_line("stored as", "%s, not scaled", header.stored_type.c_str());
  if (header.intent_code != 0 || !header.intent_name.empty())
    print_line("intent", "%d '%s'", header.intent_code, header.intent_name.c_str());
  if (header.geometry) {
    print_grid(*header.geometry);
    double degrees = 0;
    const std::string letters = axis_letters(header.geometry->direction, degrees);
    print_line("axes", "%s (where each index leads to), %.2f degrees oblique", letters.c_str(),
               degrees);
  }
  if (header.nifti) print_placement(*header.nifti);
  warnings = header.warnings;
  if (!header.refusal.empty()) warnings.push_back("the programs refuse it: " + header.refusal);
  if (may_be_a_transform(header))
    warnings.push_back(
        "its header does not say that it is a transform; if it is one, name the format with "
        "--from");
  if (!header.is_scalar_volume()) {
    print_line("values", "not read: the range is that of a 3-D scalar image");
    return;
  }
  HostImage image;
  try {
    image = read_image(path);
  } catch (const NothingFinite& e) {
    print_line("values", "none: no voxel has a finite number");
    warnings.push_back(std::string("the programs refuse it: ") + e.what());
    return;
  }
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (const float v : image.voxels)
    if (v == v) low = std::min(low, v), high = std::max(high, v);
  print_line("values", "%g to %g, %zu voxels without a value", double(low), double(high),
             image.nonfinite_voxels);
}

}  // namespace freeflow::apps
