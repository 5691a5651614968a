// Mutual information and its relatives, from the joint histogram of the overlap, for images of
// different modality or scale. Costs (lower is better; entropies H in nats):
//   nmi                 -(H(fixed) + H(moving)) / H(fixed, moving), from -2 (one determines the
//                       other) to -1 (independent) (Studholme 1999; Shams 2010, eq. 5)
//   mi                  -(H(fixed) + H(moving) - H(fixed, moving))   (Shams 2010, eq. 3)
//   conditional_moving  H(moving | fixed)      conditional_fixed  H(fixed | moving)
// Forces by estimator (joint_histogram.h), -d cost / d u(x):
//   parzen, parzen_both  exact: d cost / d warped(x) times the warped image's gradient. This is
//                        Hermosillo's force field (2002; Ledig
//   2010):
//                        the derivative of the smoothed joint density, read off at (fixed(x),
//                        warped(x)), times the gradient
//   partial_volume       exact (Maes 1999)
//   hard                 counts have no derivative: Hermosillo's force field on the counts smoothed
//                        by a cubic window on both axes
#pragma once

#include <cstdint>

#include <freeflow/core/reduce.h>
#include <freeflow/similarity/intensity_range.h>
#include <freeflow/similarity/joint_histogram/joint_histogram.h>
#include <freeflow/similarity/similarity_measure.h>
#include <freeflow/similarity/slab_measure.h>

namespace freeflow {

enum class Information { nmi, mi, conditional_moving, conditional_fixed };

struct MutualInformationOptions {
  Information measure = Information::nmi;
  int fixed_bins = 64, moving_bins = 64;  ///< 8 to 256
  Estimator estimator = Estimator::parzen;
  HistogramScheme scheme = HistogramScheme::automatic;
  /// Of the moving image, linear or cubic: trilinear, or by the interpolating cubic B-spline (Ledig
  /// 2010, table 4), of value and force alike. Its overshoots are counted in the last bins, and NaN
  /// voxels are 0 bins to it. Not for partial_volume.
  Interpolation sampling = Interpolation::linear;
};

/// Of one evaluation, in nats.
struct EntropyValues {
  double fixed = 0, moving = 0, joint = 0;
  double voxels = 0;  ///< that overlap
  double mutual_information() const { return fixed + moving - joint; }
  double moving_given_fixed() const { return joint - fixed; }
  double fixed_given_moving() const { return joint - moving; }
};

class MutualInformation : public SimilarityMeasure, public SlabMeasure {
 public:
  /// Throws InvalidArgument when a number of bins is out of range, or the scheme or the sampling
  /// cannot take the estimator.
  explicit MutualInformation(const MutualInformationOptions& options = {});

  void set_ranges(const IntensityRange& fixed, const IntensityRange& moving) override;
  void prepare(Context& ctx, const ImagePair& images) override;
  void set_map(const PointMap& fixed_to_moving) override { map_ = fixed_to_moving; }
  void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                double* cost) override;
  void begin(Context& ctx) override;
  void count(Context& ctx, int part, int first, FieldView<const float> u) override;
  void conclude(Context& ctx, double* cost) override;
  void force(Context& ctx, int first, FieldView<const float> u, FieldView<float> out) override;
  /// Of the entropies: what images of evenly filled bins reach.
  double range() const override;

  /// Queues d cost / d warped(x) per unit of the moving image's intensity, at displacement u; 0
  /// where x has no counterpart. Throws InvalidArgument for the partial-volume estimator, whose
  /// cost does not depend on a warped intensity.
  void intensity_derivative(Context& ctx, FieldView<const float> u, VolumeView<float> derivative,
                            double* cost);

  /// The entropies of the last evaluation. Waits.
  EntropyValues entropies(Context& ctx) const;

 private:
  /// Entropies of a histogram, and where they are kept.
  struct Table {
    Buffer<std::uint64_t> histogram, marginals;
    Buffer<double> sums;
    double unit = 1;
  };
  /// Counts slab by slab. The first is of the whole device and has its sum in counted_; where that
  /// is several GPUs, one more for each, with a sum of its own.
  struct Counter {
    JointHistogram histogram;
    Buffer<std::uint64_t> of_slab, sum;
    bool any = false;
  };
  Counter make_counter(Context& ctx, bool with_sum) const;
  /// What the GPUs have counted on their own, into counted_.
  void add_up(Context& ctx);
  /// The slopes of the first GPU to the others.
  void hand_out_slopes(Context& ctx);
  void count(Context& ctx, Counter& counter, int first, FieldView<const float> u);
  Table make_table(Context& ctx, double unit) const;
  void measure(Context& ctx, Table& table) const;
  /// The derivative of every joint bin, into slopes_.
  void differentiate(Context& ctx, double* cost);
  /// The fixed image's voxels of a slab.
  VolumeView<const std::uint16_t> fixed_bins_of(int first, const FieldView<const float>& u) const;
  /// Calls f with where a slab's voxels fall and how they are sampled there.
  template <class F>
  void with_point(const Context& ctx, int first, FieldView<const float> u, F&& f) const;
  /// Whether to warp first and count then, as a GPU does for windows: sampling and windows in one
  /// kernel leave half its threads without registers. Chosen from the parts' times
  /// (docs/performance.md).
  bool warps_first(const Context& ctx) const;
  bool smooths() const { return options_.estimator == Estimator::hard; }
  bool samples_cubic() const { return options_.sampling == Interpolation::cubic; }

  MutualInformationOptions options_;
  HistogramShape shape_;
  IntensityRange fixed_range_, moving_range_;
  PointMap map_;
  Volume<float> moving_in_bins_, coefficients_, warped_;
  Volume<std::uint16_t> fixed_bin_;
  std::vector<Counter> counters_;
  Table counted_, smoothed_;
  /// Of every joint bin; on every GPU, since all voxels look them up.
  struct Slopes {
    Buffer<float> values, polynomials;
  };
  std::vector<Slopes> slopes_;
  ReduceWorkspace work_;
};

}  // namespace freeflow
