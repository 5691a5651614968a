// Self-similarity context (MIND-SSC; Heinrich 2013, MICCAI, "Towards realtime multimodal fusion for
// image-guided interventions using self-similarities"): compares how each image looks about a voxel
// with itself, never the one's intensities with the other's. For images of different modalities,
// whatever their shading; contrast may turn from place to place.
//
// Of the six neighbours of voxel x at distance `dilation` twelve pairs are not opposite: the
// channels. D_k(x) is the mean of squared differences between the patches, (2 radius + 1)^3 voxels,
// about the two neighbours of pair k; V(x) the mean of D_k(x) over the channels, held between 0.001
// and 1000 times its mean over the image. The descriptor is exp(-(D_k - min_j D_j) / V), in 8 bits.
// The cost is the mean over the voxels, and of each over its channels, of
// (fixed_k(x) - moving_k(M(x + u(x))))^2, moving channels sampled trilinearly: in [0, 1]. The force
// is the exact derivative of that.
//
// What does not exist does not count, and masking is the same as cropping: a pair of patch voxels
// without a value in both leaves the mean, a neighbour without a value (off the grid, NaN) its
// channels; a voxel without a value has none. A channel counts where both images have it, in all
// voxels of the cell as for ssd.
//
// Every image is described once per level, along its own axes; channels meet as the linear map
// turns the axes, to the nearest quarter turn or mirroring, so that it does not matter in which
// order an image is stored. Between two of those the descriptors of turned images differ: where a
// linear map turns by much, let linreg find it by nmi first. Distances are in voxels of the level,
// so the two images should be of about the same spacing.
// Cost: 16 bytes per voxel and image; preparing does not depend on the radius (window_sum.h).
#pragma once

#include <array>
#include <cstdint>

#include <freeflow/core/reduce.h>
#include <freeflow/similarity/intensity_range.h>
#include <freeflow/similarity/mind_record.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

struct MindOptions {
  int radius = 1;    ///< of the patches, voxels of the level, 1 to 16
  int dilation = 2;  ///< from a voxel to its neighbours, voxels of the level, 1 to 16
};

/// The descriptors of an image along its own axes, one record per voxel. The channels are the pairs
/// of the x and y axes, then x and z, then y and z; of the axes a and b in the order (+a, +b),
/// (-a, -b), (+a, -b), (-a, +b). Allocates 48 bytes per voxel more while it works.
Buffer<MindRecord> mind_descriptors(Context& ctx, const Volume<float>& image,
                                    const IntensityRange& range, const MindOptions& options);

class Mind : public SimilarityMeasure {
 public:
  /// Throws InvalidArgument when an option is out of range.
  explicit Mind(const MindOptions& options = {});

  void set_ranges(const IntensityRange& fixed, const IntensityRange& moving) override;
  void prepare(Context& ctx, const ImagePair& images) override;
  void set_map(const PointMap& fixed_to_moving) override { map_ = fixed_to_moving; }
  void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                double* cost) override;
  /// Twice the variance of a channel, which hardly depends on the image.
  double range() const override { return 0.125; }

 private:
  /// order[k]: the fixed image's channel that meets channel k of the moving one.
  using Order = std::array<std::uint8_t, MindRecord::count>;
  void take_order_of_map(Context& ctx);

  MindOptions options_;
  IntensityRange fixed_range_, moving_range_;
  PointMap map_;
  Order order_{};  // in which fixed_ stands
  Extent fixed_extent_, moving_extent_;
  Buffer<MindRecord> fixed_, moving_;
  Buffer<float> residual_;
  ReduceWorkspace work_;
  Buffer<double> sums_;
};

}  // namespace freeflow
