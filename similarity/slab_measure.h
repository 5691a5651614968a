// A measure that takes slices at a time: neither displacement nor force need exist for the whole
// grid. For volumes of a thousand million voxels, where each takes 12 bytes a voxel.
#pragma once

#include <freeflow/core/context.h>
#include <freeflow/core/views.h>

namespace freeflow {

/// What a SimilarityMeasure may be besides. An evaluation is begin, count for all slices, conclude,
/// then force for all slices. `first` is the slab's first slice of the fixed grid, the views are of
/// the slab alone. Results do not depend on the slabs. Counting and forces take the contexts of
/// Context::parts, of which `part` is the number: several GPUs each go through slabs of their own.
/// No call allocates or waits.
class SlabMeasure {
 public:
  virtual ~SlabMeasure() = default;
  virtual void begin(Context& ctx) = 0;
  virtual void count(Context& ctx, int part, int first, FieldView<const float> u) = 0;
  /// *cost as SimilarityMeasure::evaluate has it.
  virtual void conclude(Context& ctx, double* cost) = 0;
  virtual void force(Context& ctx, int first, FieldView<const float> u, FieldView<float> out) = 0;
};

}  // namespace freeflow
