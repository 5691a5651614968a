// What every measure promises: a cost (lower is better) and one force per voxel, -d cost / d u(x).
// A pipeline is what it does with that force, so a measure and its schemes are written once for all
// pipelines. A measure defined outside the library is a class derived from SimilarityMeasure, given
// to a pipeline as SimilarityChoice::factory.
//
// The order of calls: set_ranges once, then for every level prepare once and evaluate often,
// set_map in between where the linear map moves. prepare is also called in a rehearsal
// (Context::rehearsal), which finds out what it allocates: it must touch voxels by for_each_voxel,
// reduce and copies of the context alone.
#pragma once

#include <freeflow/similarity/image_pair.h>
#include <freeflow/similarity/intensity_range.h>

namespace freeflow {

class SimilarityMeasure {
 public:
  virtual ~SimilarityMeasure() = default;

  /// The robust intensity ranges of the full-resolution images. They stay the same on all levels.
  virtual void set_ranges(const IntensityRange& fixed, const IntensityRange& moving) = 0;
  /// The same, read off two images. Throws RegistrationError when an image is constant or empty.
  /// Waits.
  void read_ranges(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving) {
    set_ranges(robust_range(ctx, fixed, "the fixed image"),
               robust_range(ctx, moving, "the moving image"));
  }

  /// Takes a level's images, which must outlive their use, and allocates what evaluating them
  /// needs. Once per level.
  virtual void prepare(Context& ctx, const ImagePair& images) = 0;

  /// Replaces the linear map given to prepare: a linear registration moves it with every
  /// evaluation.
  virtual void set_map(const PointMap& fixed_to_moving) = 0;

  /// How much more images cost that have nothing in common than images that match: the unit in
  /// which a pipeline states the weights of its own penalties, so that they mean the same for every
  /// measure.
  virtual double range() const { return 1; }

  /// Queues the evaluation at displacement u (voxels of the fixed level grid; null data: none):
  /// *cost, in device memory or at ctx.readback(), gets the cost (NaN without any overlap), written
  /// once and never read; force, unless its data is null, gets
  /// -d cost / d u(x), 0 where x has no counterpart. Neither allocates nor waits.
  virtual void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                        double* cost) = 0;
};

}  // namespace freeflow
