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

void MeasureSum::prepare(Context& ctx, const ImagePair& images) {
  force_ = Buffer<float>(ctx, terms_.size() > 1 ? 3 * images.fixed.extent().count() : 0);
  costs_ = Buffer<double>(ctx, terms_.size() + 1);
  for (const Term& t : terms_) t.measure->prepare(ctx, images);
}

void MeasureSum::set_map(const PointMap& fixed_to_moving) {
  for (const Term& t : terms_) t.measure->set_map(fixed_to_moving);
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
}

}  // namespace freeflow
