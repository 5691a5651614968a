// Images and labels through a transform, in one resampling whatever the length of the chain.
#pragma once

#include <cstdint>

#include <freeflow/deform/warp.h>
#include <freeflow/transform/transform.h>

namespace freeflow {

/// Samples `moving` at transform(x) for every voxel x of `grid`. Voxels that fall outside (farther
/// than half a voxel beyond the outermost centres, as in ITK), or nearest to a missing one (NaN or
/// infinite), become `fill`. Throws InvalidArgument for memory of another device and for chains of
/// more than Transform::most_links fields.
Volume<float> resample(Context& ctx, const Volume<float>& moving, const Transform& transform,
                       const Geometry& grid, Interpolation interpolation = Interpolation::linear,
                       float fill = 0);

enum class LabelInterpolation {
  nearest,  ///< the label of the nearest voxel
  vote      ///< the label of the largest trilinear weight among the eight voxels around: smoother
};

/// The same of labels as they are numbered: integers that never pass through float. Outside:
/// `outside`. A vote that ends level goes to the smaller number.
Volume<std::int32_t> resample_labels(Context& ctx, const Volume<std::int32_t>& labels,
                                     const Transform& transform, const Geometry& grid,
                                     LabelInterpolation interpolation = LabelInterpolation::nearest,
                                     std::int32_t outside = 0);

struct StoredPoint;

/// Where a transform takes every voxel of a grid, computed once for many images on one grid: the
/// same bits as resample and resample_labels. Takes 12 bytes a voxel of the grid.
class SamplingMap {
 public:
  /// Throws InvalidArgument as resample does.
  SamplingMap(Context& ctx, const Transform& transform, const Geometry& grid,
              const Geometry& image);

  const Geometry& grid() const { return grid_; }
  const Geometry& image() const { return image_; }

  /// Of images on image(). Throws InvalidArgument for others.
  Volume<float> resample(Context& ctx, const Volume<float>& moving,
                         Interpolation interpolation = Interpolation::linear, float fill = 0) const;
  Volume<std::int32_t> resample_labels(
      Context& ctx, const Volume<std::int32_t>& labels,
      LabelInterpolation interpolation = LabelInterpolation::nearest,
      std::int32_t outside = 0) const;

 private:
  StoredPoint point(Context& ctx, const Geometry& image) const;

  Geometry grid_, image_;
  Buffer<float> position_;  // in voxels of the image
};

/// Labels of any integer type as numbers 0, 1, 2, ... in the order of their values.
template <class T>
struct NumberedLabels {
  std::vector<std::int32_t> number;  ///< per voxel
  std::vector<T> label;              ///< of each number, ascending
  T of(std::int32_t n) const { return label[std::size_t(n)]; }
};

/// `background` is among the labels whether a voxel has it or not.
template <class T>
NumberedLabels<T> number_labels(const std::vector<T>& labels, T background);

}  // namespace freeflow
