#include <freeflow/registration/levels/image_channels.h>

namespace freeflow {

std::string channel_name(const char* image, std::size_t channel, std::size_t channels) {
  return channels == 1 ? image : "channel " + std::to_string(channel + 1) + " of " + image;
}

std::size_t common_channels(const PreparedImage& fixed, const PreparedImage& moving) {
  require(fixed.channels() == moving.channels(),
          "the fixed image has " + std::to_string(fixed.channels()) +
              " channels and the moving image " + std::to_string(moving.channels()) +
              ": give each channel of one its counterpart of the other");
  return fixed.channels();
}

std::vector<ImagePair> channel_pairs(Context& ctx, PreparedImage& fixed,
                                     const PreparedImage::Steps& fixed_steps, PreparedImage& moving,
                                     const PreparedImage::Steps& moving_steps,
                                     const PointMap& fixed_to_moving) {
  std::vector<ImagePair> pairs;
  for (std::size_t c = 0; c < fixed.channels(); ++c)
    pairs.push_back({fixed.channel(c).level(ctx, fixed_steps),
                     moving.channel(c).level(ctx, moving_steps), fixed_to_moving});
  return pairs;
}

std::vector<ChannelRanges> channel_ranges(Context& ctx, PreparedImage& fixed,
                                          const PreparedImage::Steps& fixed_steps,
                                          PreparedImage& moving,
                                          const PreparedImage::Steps& moving_steps) {
  std::vector<ChannelRanges> ranges;
  const auto of = [&](PreparedImage& image, const PreparedImage::Steps& steps, const char* what,
                      std::size_t c) {
    return image.channel(c).range(ctx, steps, channel_name(what, c, image.channels()).c_str());
  };
  for (std::size_t c = 0; c < fixed.channels(); ++c) {
    const IntensityRange of_fixed = of(fixed, fixed_steps, "the fixed image", c);
    ranges.push_back({of_fixed, of(moving, moving_steps, "the moving image", c)});
  }
  return ranges;
}

}  // namespace freeflow
