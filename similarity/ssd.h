// Sum of squared differences: the mean over the overlap of (fixed(x) - moving(M(x + u(x))))^2,
// intensities scaled by the larger robust range of the two images. For images of one modality and
// one scale. Source: Lee 2012, eq. 3 (its data term).
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

class Ssd : public SimilarityMeasure {
 public:
  void set_ranges(const IntensityRange& fixed, const IntensityRange& moving) override;
  void prepare(Context& ctx, const ImagePair& images) override;
  void set_map(const PointMap& fixed_to_moving) override { map_ = fixed_to_moving; }
  void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                double* cost) override;
  /// Twice the variance of intensities, in squared ranges, as heads and abdomens have it.
  double range() const override { return 0.1; }

 private:
  float scale_ = 1;
  VolumeView<const float> fixed_, moving_;
  PointMap map_;
  Volume<float> warped_;
  ReduceWorkspace work_;
  Buffer<double> sums_;
};

}  // namespace freeflow
