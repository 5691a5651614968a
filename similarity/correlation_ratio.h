// The correlation ratio of the overlap (Roche 1998; Li 2015, eq. 1-4): how far one image's
// intensity is a function of the other's. For images of different modality. The cost is 1 - eta in
// [0, 1]: 0 where one determines the other, 1 where they are independent. eta is not symmetric: the
// direction says which image is explained by which.
#pragma once

#include <cstdint>

#include <freeflow/similarity/intensity_range.h>
#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

struct CorrelationRatioOptions {
  int bins = 64;  ///< of the image that explains the other, 2 to 256 (fixed_given_moving: 4 to 256)
  RatioScheme scheme = RatioScheme::automatic;
  RatioDirection direction = RatioDirection::moving_given_fixed;
  double border_mm = 0;  ///< width over which a voxel's weight falls to 0 at the border of the
                         ///< moving image (FLIRT; Li 5.3); 0 is off
};

class CorrelationRatio : public SimilarityMeasure {
 public:
  /// Throws InvalidArgument when an option is out of range or the scheme cannot take the direction.
  explicit CorrelationRatio(const CorrelationRatioOptions& options = {});

  void set_ranges(const IntensityRange& fixed, const IntensityRange& moving) override;
  void prepare(Context& ctx, const ImagePair& images) override;
  void set_map(const PointMap& fixed_to_moving) override { input_.map = fixed_to_moving; }
  void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                double* cost) override;

 private:
  CorrelationRatioOptions options_;
  IntensityRange fixed_range_, moving_range_;
  RatioPlan plan_;
  RatioInput input_;
  Volume<std::uint16_t> fixed_;
  Volume<float> moving_, warped_;
  Buffer<std::uint64_t> sums_;
  Buffer<RatioStatistics> statistics_;
  Buffer<float> means_;
};

}  // namespace freeflow
