#include <freeflow/transform/resample.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/transform/resample_body.h>

namespace freeflow {

namespace {

template <class Point>
Volume<float> resample_at(Context& ctx, const Volume<float>& moving, const Point& point,
                          const Geometry& grid, Interpolation interpolation, float fill) {
  Volume<float> out(ctx, grid);
  switch (interpolation) {
    case Interpolation::nearest:
      for_each_voxel(ctx, grid.extent,
                     WarpNearestBody<Point>{point, moving.view(), out.view(), fill});
      break;
    case Interpolation::linear:
      for_each_voxel(ctx, grid.extent,
                     WarpLinearBody<Point>{point, moving.view(), out.view(), fill});
      break;
    case Interpolation::cubic: {
      Volume<float> coefficients = moving.clone(ctx);
      bspline_prefilter(ctx, coefficients.view());
      for_each_voxel(ctx, grid.extent,
                     WarpCubicBody<Point>{point, std::as_const(coefficients).view(), moving.view(),
                                          out.view(), fill});
      break;
    }
  }
  return out;
}

template <class Point>
Volume<std::int32_t> resample_labels_at(Context& ctx, const Volume<std::int32_t>& labels,
                                        const Point& point, const Geometry& grid,
                                        LabelInterpolation interpolation, std::int32_t outside) {
  Volume<std::int32_t> out(ctx, grid);
  if (interpolation == LabelInterpolation::nearest)
    for_each_voxel(ctx, grid.extent,
                   LabelNearestBody<Point>{point, labels.view(), out.view(), outside});
  else
    for_each_voxel(ctx, grid.extent,
                   LabelVoteBody<Point>{point, labels.view(), out.view(), outside});
  return out;
}

}  // namespace

Volume<float> resample(Context& ctx, const Volume<float>& moving, const Transform& transform,
                       const Geometry& grid, Interpolation interpolation, float fill) {
  require_on_device(ctx, moving);
  moving.geometry().validate("the image to be sampled");
  grid.validate("the grid to be sampled");
  return resample_at(ctx, moving, chain_point(ctx, transform, grid, moving.geometry()), grid,
                     interpolation, fill);
}

Volume<std::int32_t> resample_labels(Context& ctx, const Volume<std::int32_t>& labels,
                                     const Transform& transform, const Geometry& grid,
                                     LabelInterpolation interpolation, std::int32_t outside) {
  require_on_device(ctx, labels);
  labels.geometry().validate("the labels to be sampled");
  grid.validate("the grid to be sampled");
  return resample_labels_at(ctx, labels, chain_point(ctx, transform, grid, labels.geometry()), grid,
                            interpolation, outside);
}

SamplingMap::SamplingMap(Context& ctx, const Transform& transform, const Geometry& grid,
                         const Geometry& image)
    : grid_(grid), image_(image) {
  grid.validate("the grid to be sampled");
  image.validate("the image to be sampled");
  position_ = Buffer<float>(ctx, 3 * grid.extent.count(), Planes{3});
  for_each_voxel(ctx, grid.extent,
                 StorePointBody{chain_point(ctx, transform, grid, image),
                                FieldView<float>{position_.data(), grid.extent}});
}

StoredPoint SamplingMap::point(Context& ctx, const Geometry& image) const {
  require_on_device(ctx, position_);
  require(same_grid(image, image_), "the image is not on the grid that the map leads to");
  return {FieldView<const float>{position_.data(), grid_.extent}};
}

Volume<float> SamplingMap::resample(Context& ctx, const Volume<float>& moving,
                                    Interpolation interpolation, float fill) const {
  require_on_device(ctx, moving);
  return resample_at(ctx, moving, point(ctx, moving.geometry()), grid_, interpolation, fill);
}

Volume<std::int32_t> SamplingMap::resample_labels(Context& ctx, const Volume<std::int32_t>& labels,
                                                  LabelInterpolation interpolation,
                                                  std::int32_t outside) const {
  require_on_device(ctx, labels);
  return resample_labels_at(ctx, labels, point(ctx, labels.geometry()), grid_, interpolation,
                            outside);
}

template <class T>
NumberedLabels<T> number_labels(const std::vector<T>& labels, T background) {
  std::unordered_map<T, std::int32_t> numbers{{background, 0}};
  T last = background;
  for (const T& label : labels)  // neighbours mostly have one label
    if (label != last) numbers.try_emplace(last = label, 0);
  NumberedLabels<T> result;
  for (const auto& [label, number] : numbers) result.label.push_back(label);
  std::sort(result.label.begin(), result.label.end());
  for (std::size_t i = 0; i < result.label.size(); ++i) numbers[result.label[i]] = std::int32_t(i);
  result.number.reserve(labels.size());
  last = background;
  std::int32_t number = numbers[background];
  for (const T& label : labels) {
    if (label != last) number = numbers[last = label];
    result.number.push_back(number);
  }
  return result;
}

template NumberedLabels<std::int8_t> number_labels(const std::vector<std::int8_t>&, std::int8_t);
template NumberedLabels<std::uint8_t> number_labels(const std::vector<std::uint8_t>&, std::uint8_t);
template NumberedLabels<std::int16_t> number_labels(const std::vector<std::int16_t>&, std::int16_t);
template NumberedLabels<std::uint16_t> number_labels(const std::vector<std::uint16_t>&,
                                                     std::uint16_t);
template NumberedLabels<std::int32_t> number_labels(const std::vector<std::int32_t>&, std::int32_t);
template NumberedLabels<std::uint32_t> number_labels(const std::vector<std::uint32_t>&,
                                                     std::uint32_t);
template NumberedLabels<std::int64_t> number_labels(const std::vector<std::int64_t>&, std::int64_t);
template NumberedLabels<std::uint64_t> number_labels(const std::vector<std::uint64_t>&,
                                                     std::uint64_t);

}  // namespace freeflow
