#include <freeflow/similarity/channel_measure.h>

#include <utility>

namespace freeflow {

namespace {

/// Flat, also where a channel's measure is a sum: one buffer of forces serves all.
std::vector<MeasureSum::Term> terms_of(const SimilarityChoice& choice, std::size_t channels) {
  const std::vector<double> weights = choice.weights_of(channels);
  std::vector<SimilarityTerm> of_each = choice.terms();
  if (choice.factory) of_each = {{}};
  SimilarityChoice one = choice;
  one.sum.clear();
  std::vector<MeasureSum::Term> terms;
  for (std::size_t c = 0; c < channels; ++c)
    for (const SimilarityTerm& t : of_each) {
      one.kind = t.kind;
      const double own = of_each.size() > 1 ? t.weight : 1;  // as make_similarity() has it
      terms.push_back({make_similarity(one), weights[c] * own, c});
    }
  return terms;
}

}  // namespace

ChannelMeasure::ChannelMeasure(const SimilarityChoice& choice, std::size_t channels) {
  if (channels == 1) {
    choice.weights_of(1);  // throws
    measure_ = make_similarity(choice);
    return;
  }
  auto sum = std::make_unique<MeasureSum>(terms_of(choice, channels));
  of_channels_ = sum.get();
  measure_ = std::move(sum);
}

void ChannelMeasure::set_ranges(std::size_t channel, const IntensityRange& fixed,
                                const IntensityRange& moving) {
  if (of_channels_)
    of_channels_->set_channel_ranges(channel, fixed, moving);
  else
    measure_->set_ranges(fixed, moving);
}

void ChannelMeasure::prepare(Context& ctx, std::span<const ImagePair> channels) {
  if (of_channels_)
    of_channels_->prepare_channels(ctx, channels);
  else
    measure_->prepare(ctx, channels[0]);
}

}  // namespace freeflow
