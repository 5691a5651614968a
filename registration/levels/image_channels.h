// Private: what a registration does with every channel of its two images.
#pragma once

#include <string>
#include <vector>

#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/similarity/channel_measure.h>

namespace freeflow {

/// "the fixed image", or where there are several channels "channel 2 of the fixed image".
std::string channel_name(const char* image, std::size_t channel, std::size_t channels);

/// The channels of both. Throws InvalidArgument where they are not as many.
std::size_t common_channels(const PreparedImage& fixed, const PreparedImage& moving);

/// The pairs of a level, one for each channel; the images belong to the prepared ones.
std::vector<ImagePair> channel_pairs(Context& ctx, PreparedImage& fixed,
                                     const PreparedImage::Steps& fixed_steps, PreparedImage& moving,
                                     const PreparedImage::Steps& moving_steps,
                                     const PointMap& fixed_to_moving);

/// The robust ranges of a channel on a level.
struct ChannelRanges {
  IntensityRange fixed, moving;
};
/// Throws RegistrationError naming the image, and the channel where there are several, when it is
/// constant or empty. May wait.
std::vector<ChannelRanges> channel_ranges(Context& ctx, PreparedImage& fixed,
                                          const PreparedImage::Steps& fixed_steps,
                                          PreparedImage& moving,
                                          const PreparedImage::Steps& moving_steps);

}  // namespace freeflow
