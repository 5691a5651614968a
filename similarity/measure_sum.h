// A weighted sum of measures: of several measures of one pair of images, or of several channels.
#pragma once

#include <memory>
#include <vector>

#include <freeflow/core/buffer.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

class MeasureSum : public SimilarityMeasure {
 public:
  struct Term {
    std::unique_ptr<SimilarityMeasure> measure;
    double weight = 1;
  };

  /// Throws InvalidArgument without terms, without a measure, or for weights that are not positive
  /// numbers.
  explicit MeasureSum(std::vector<Term> terms);

  void set_ranges(const IntensityRange& fixed, const IntensityRange& moving) override;
  void prepare(Context& ctx, const ImagePair& images) override;
  void set_map(const PointMap& fixed_to_moving) override;
  void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                double* cost) override;

 private:
  std::vector<Term> terms_;
  Buffer<float> force_;
  Buffer<double> costs_;
};

}  // namespace freeflow
