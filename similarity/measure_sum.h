// A weighted sum of measures: of one pair of images, or of the channels of several
// (channel_measure.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <freeflow/core/buffer.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

class MeasureSum : public SimilarityMeasure {
 public:
  struct Term {
    std::unique_ptr<SimilarityMeasure> measure;
    double weight = 1;
    std::size_t channel = 0;  ///< whose images it compares
  };

  /// Throws InvalidArgument without terms, without a measure, or for weights that are not positive
  /// numbers.
  explicit MeasureSum(std::vector<Term> terms);

  void set_ranges(const IntensityRange& fixed, const IntensityRange& moving) override;
  void prepare(Context& ctx, const ImagePair& images) override;
  void set_map(const PointMap& fixed_to_moving) override;
  void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                double* cost) override;
  double range() const override;

  /// set_ranges for the terms of one channel.
  void set_channel_ranges(std::size_t channel, const IntensityRange& fixed,
                          const IntensityRange& moving);
  /// prepare, a pair of images for each channel. The pairs share both grids and the map.
  void prepare_channels(Context& ctx, std::span<const ImagePair> channels);

 private:
  void allocate(Context& ctx, Extent extent);

  std::vector<Term> terms_;
  Buffer<float> force_;
  Buffer<double> costs_;
};

}  // namespace freeflow
