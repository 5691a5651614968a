// The mean of many images or fields as an exact sum: every value becomes an integer multiple of one
// unit, and integers add up to the same bits in any order and any grouping. The words of the sum
// can be handed to MPI (MPI_INT64_T, MPI_SUM) and taken back.
#pragma once

#include <cstdint>

#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

/// Values: Volume<float> or DisplacementField. A voxel with a NaN does not count there: the mean is
/// over those that have a value.
template <class Values>
class ExactMean {
 public:
  static constexpr int most_addends = 1 << 20;

  /// largest: no value added may be larger, of either sign. The unit is the power of two near
  /// largest * 2^-42; a value is rounded to it (those above largest * 2^-18 are multiples of it as
  /// they are). Takes 16 bytes of device memory a voxel, of a field 32.
  ExactMean(Context& ctx, const Geometry& grid, double largest);

  /// Adds one image or field on the same grid. Throws InvalidArgument for another grid or device,
  /// for a value beyond `largest`, and for more than most_addends. Waits.
  void add(Context& ctx, const Values& values);
  /// Adds what another has added up, with the same grid and bound.
  void add(Context& ctx, const ExactMean& other);

  /// NaN where nothing was added.
  Values mean(Context& ctx) const;

  /// Sums of every component, then per voxel the number of addends, and last the number of images
  /// added: device memory, to be added up over processes.
  Buffer<std::int64_t>& words() { return words_; }

 private:
  Geometry grid_;
  double largest_, unit_;
  Buffer<std::int64_t> words_;
};

extern template class ExactMean<Volume<float>>;
extern template class ExactMean<DisplacementField>;

}  // namespace freeflow
