// What of an image's intensities a registration looks at.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <freeflow/io/image_file.h>
#include <freeflow/registration/levels/content_box.h>

namespace freeflow::apps {

struct IntensityOptions {
  std::optional<float> background{};              ///< voxels of this value have none
  std::optional<std::pair<float, float>> clip{};  ///< values beyond are cut to these
  std::optional<VoxelBox> measured{};             ///< voxels beyond have none
  bool cut_out = false;  ///< what has no value around the object is its background
};

/// "LOW,HIGH". Throws InvalidArgument naming --clip.
std::pair<float, float> parse_clip(const std::string& text);

/// Of the voxels that have a value; infinite where none has.
float smallest_value(const std::vector<float>& voxels);

/// The value that scanners, converters and resampling fill with what was not measured: the least
/// one, of a share of the voxels, far below all others. In CT it lies below -1500, above which they
/// begin, and by 400 and more below them; else it alone is negative, by a tenth of the others'
/// range, and leaves a field of view (masked_background.h says what is none). Nothing where there
/// is none.
std::optional<float> find_padding(const HostImage& image);

/// "'FILE' is padded with VALUE, which counts as not measured", the value with every digit, as
/// --background takes it.
std::string said_of_padding(const std::string& file, float padding);

/// Whether a voxel has this value.
bool holds(const HostImage& image, float value);

/// Whether a clip leaves one value, as all voxels lie to one side of it.
bool leaves_nothing(const HostImage& image, const std::pair<float, float>& clip);

/// The share of the voxels with a value that is above `limit`.
double share_above(const HostImage& image, float limit);

/// Whether NaN lies around an object (masked_background()).
bool is_cut_out(const HostImage& image);

/// "'FILE' has NaN around its object, which counts as its background".
std::string said_of_cut_out(const std::string& file);

/// The voxels as a registration takes them: around what was cut out the least value; without the
/// background and what was not measured (NaN), the others clipped.
void prepare_intensities(HostImage& image, const IntensityOptions& options);

}  // namespace freeflow::apps
