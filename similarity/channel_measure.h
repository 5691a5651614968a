// The measure of images that may have several channels (T1 and T2; a network's features): of one
// channel what make_similarity() gives, of several the same measure for each, with that channel's
// images and ranges, summed with weights. The weights sum to 1, so that the cost keeps the scale
// that it has with one channel.
#pragma once

#include <memory>
#include <span>

#include <freeflow/similarity/measure_sum.h>
#include <freeflow/similarity/similarity_choice.h>

namespace freeflow {

class ChannelMeasure {
 public:
  /// Throws InvalidArgument where SimilarityChoice::channel_weights has another number of them.
  ChannelMeasure(const SimilarityChoice& choice, std::size_t channels);

  /// What SimilarityMeasure says of these, channel by channel.
  void set_ranges(std::size_t channel, const IntensityRange& fixed, const IntensityRange& moving);
  void prepare(Context& ctx, std::span<const ImagePair> channels);
  /// Of all channels together, to be moved and evaluated.
  SimilarityMeasure& measure() { return *measure_; }

 private:
  std::unique_ptr<SimilarityMeasure> measure_;
  MeasureSum* of_channels_ = nullptr;  // the measure, where there are several
};

}  // namespace freeflow
