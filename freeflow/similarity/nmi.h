// Normalised mutual information of the overlap (Studholme 1999; Shams 2010, eq. 5), by a joint histogram with a cubic
// Parzen window on the moving axis (Mattes 2003). For images of different modality or scale. The cost is
// -(H(fixed) + H(moving)) / H(fixed, moving), between -2 (one determines the other) and -1 (independent).
#pragma once

#include <cstdint>

#include <freeflow/core/reduce.h>
#include <freeflow/similarity/intensity_range.h>
#include <freeflow/similarity/joint_histogram/joint_histogram.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

struct NmiOptions {
  int bins = 64;  ///< per axis, 16 to 256
  HistogramScheme scheme = HistogramScheme::automatic;
};

class Nmi : public SimilarityMeasure {
 public:
  /// Throws InvalidArgument when the number of bins is out of range.
  explicit Nmi(const NmiOptions& options = {});

  void set_range(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving) override;
  void prepare(Context& ctx, const ImagePair& images) override;
  void set_map(const PointMap& fixed_to_moving) override { map_ = fixed_to_moving; }
  void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force, double* cost) override;
  std::size_t level_bytes(std::size_t fixed_voxels, std::size_t moving_voxels) const override;

 private:
  NmiOptions options_;
  HistogramShape shape_;
  IntensityRange fixed_range_, moving_range_;
  PointMap map_;
  Volume<float> moving_in_bins_, warped_;
  Volume<std::uint16_t> fixed_bin_;
  Buffer<std::uint64_t> histogram_, marginals_;
  Buffer<float> derivative_;
  Buffer<double> entropy_sums_;
  ReduceWorkspace work_;
};

}  // namespace freeflow
