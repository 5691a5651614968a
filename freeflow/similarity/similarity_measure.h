// What every measure promises: a cost (lower is better) and one force per voxel, -d cost / d u(x). A pipeline is what it
// does with that force, so a measure and its schemes are written once for all pipelines.
#pragma once

#include <freeflow/core/volume.h>

namespace freeflow {

/// The two images of one pyramid level. NaN voxels (outside a mask, invalid) do not count.
struct ImagePair {
  const Volume<float>& fixed;
  const Volume<float>& moving;
  PointMap fixed_to_moving;  ///< voxel indices to voxel indices, without the displacement (core/geometry.h index_map)
};

class SimilarityMeasure {
 public:
  virtual ~SimilarityMeasure() = default;

  /// Reads the intensity ranges of the full-resolution images. Once per registration. Throws RegistrationError when an
  /// image is constant or empty.
  virtual void set_range(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving) = 0;

  /// Takes a level's images and allocates what evaluating it needs. Once per level.
  virtual void prepare(Context& ctx, const ImagePair& images) = 0;

  /// Replaces the linear map given to prepare: a linear registration moves it with every evaluation.
  virtual void set_map(const PointMap& fixed_to_moving) = 0;

  /// Queues the evaluation at displacement u (voxels of the fixed level grid; null data: none): *cost, in device memory or at
  /// ctx.landing(), gets the cost (NaN without any overlap), written once and never read; force, unless its data is null, gets
  /// -d cost / d u(x), 0 where x has no counterpart. Neither allocates nor waits.
  virtual void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force, double* cost) = 0;

  /// Bytes of device memory that a level of this many fixed and moving voxels takes.
  virtual std::size_t level_bytes(const Context& ctx, std::size_t fixed_voxels, std::size_t moving_voxels) const = 0;
};

/// The part of the fixed level's valid voxels that lands on valid moving voxels at displacement u, in [0, 1]. Waits.
double overlap_fraction(Context& ctx, const ImagePair& images, FieldView<const float> u);

}  // namespace freeflow
