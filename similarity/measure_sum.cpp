#include <freeflow/similarity/measure_sum.h>

#include <cmath>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/similarity/measure_sum_body.h>

namespace freeflow {

MeasureSum::MeasureSum(std::vector<Term> terms) : terms_(std::move(terms)) {
  require(!terms_.empty(), "a sum of measures needs one at least");
  for (const Term& t : terms_) {
    require(t.measure != nullptr, "a sum of measures was given a term without a measure");
    require(std::isfinite(t.weight) && t.weight > 0,
            "the weight of a measure must be a positive number");
  }
}

void MeasureSum::set_ranges(const IntensityRange& fixed, const IntensityRange& moving) {
  for (const Term& t : terms_) t.measure->set_ranges(fixed, moving);
}

void MeasureSum::set_channel_ranges(std::size_t channel, const IntensityRange& fixed,
                                    const IntensityRange& moving) {
  for (const Term& t : terms_)
    if (t.channel == channel) t.measure->set_ranges(fixed, moving);
}

void MeasureSum::allocate(Context& ctx, Extent extent) {
  force_ = Buffer<float>(ctx, terms_.size() > 1 ? 3 * extent.count() : 0, Planes{3});
  costs_ = Buffer<double>(ctx, terms_.size() + 1);
}

void MeasureSum::prepare(Context& ctx, const ImagePair& images) {
  allocate(ctx, images.fixed.extent());
  for (const Term& t : terms_) t.measure->prepare(ctx, images);
}

void MeasureSum::prepare_channels(Context& ctx, std::span<const ImagePair> channels) {
  for (const ImagePair& images : channels)
    require(same_grid(images.fixed.geometry(), channels[0].fixed.geometry()) &&
                same_grid(images.moving.geometry(), channels[0].moving.geometry()),
            "the channels of an image must lie on one grid");
  for (const Term& t : terms_)
    require(t.channel < channels.size(), "a sum of measures was given too few channels");
  allocate(ctx, channels[0].fixed.extent());
  for (const Term& t : terms_) t.measure->prepare(ctx, channels[t.channel]);
}

void MeasureSum::set_map(const PointMap& fixed_to_moving) {
  for (const Term& t : terms_) t.measure->set_map(fixed_to_moving);
}

double MeasureSum::range() const {
  double sum = 0;
  for (const Term& t : terms_) sum += t.weight * t.measure->range();
  return sum;
}

void MeasureSum::evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                          double* cost) {
  double* sum = costs_.data() + terms_.size();
  for (std::size_t k = 0; k < terms_.size(); ++k) {
    const Term& t = terms_[k];
    const FieldView<float> own{k == 0 || !force.data ? force.data : force_.data(), force.extent};
    t.measure->evaluate(ctx, u, own, costs_.data() + k);
    if (force.data && k > 0)
      for_each_voxel(ctx, force.extent,
                     AddForceBody{force_.data(), k == 1 ? float(terms_[0].weight) : 1.0f,
                                  float(t.weight), force});
    const bool last = k + 1 == terms_.size();
    for_each_voxel(ctx, Extent{1, 1, 1},
                   AddCostBody{costs_.data() + k, sum, last ? cost : sum, t.weight, k == 0});
  }
  if (const double weight = terms_[0].weight; force.data && terms_.size() == 1 && weight != 1)
    for_each_voxel(ctx, force.extent, AddForceBody{force.data, float(weight), 0.0f, force});
}

}  // namespace freeflow
