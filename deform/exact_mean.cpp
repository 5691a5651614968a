#include <freeflow/deform/exact_mean.h>

#include <cmath>
#include <string>
#include <type_traits>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/exact_mean_body.h>

namespace freeflow {

namespace {

constexpr int bits_of_largest = 42;  // with 2^20 addends a sum stays below 2^62

template <class Values>
constexpr int components = std::is_same_v<Values, DisplacementField> ? 3 : 1;

double power_of_two_above(double largest) {
  require(std::isfinite(largest) && largest > 0,
          "the largest value of a mean must be a positive number");
  return std::exp2(std::ceil(std::log2(largest)));
}

}  // namespace

template <class Values>
ExactMean<Values>::ExactMean(Context& ctx, const Geometry& grid, double largest)
    : grid_(grid), largest_(largest),
      unit_(std::ldexp(power_of_two_above(largest), -bits_of_largest)),
      words_(ctx, (components<Values> + 1) * grid.extent.count() + 1) {
  grid.validate("the grid of the mean");
  words_.fill_zero(ctx);
}

template <class Values>
void ExactMean<Values>::add(Context& ctx, const Values& values) {
  require_on_device(ctx, values, words_);
  require(same_grid(grid_, values.geometry()),
          "what is added does not lie on the mean's grid: resample it");
  const float* data = values.view().data;
  const std::size_t count = components<Values> * grid_.extent.count();
  const Buffer<double> found(ctx, 1);
  reduce(ctx, count, 1, LargestMagnitudeBody{{}, data}, ReduceWorkspace(ctx, count, 1),
         found.data());
  std::int64_t added = 0;
  ctx.copy_to_host(&added, words_.data() + words_.size() - 1, sizeof added);
  require(added < most_addends, "a mean takes at most 2^20 addends");
  const double magnitude = found.to_host(ctx)[0];
  require(magnitude <= largest_, "a value of " + std::to_string(magnitude) +
                                     " is beyond the bound of the mean, " +
                                     std::to_string(largest_) + ": raise it");
  for_each_voxel(ctx, grid_.extent,
                 ExactAddBody{data, words_.data(), grid_.extent, components<Values>, 1 / unit_});
}

template <class Values>
void ExactMean<Values>::add(Context& ctx, const ExactMean& other) {
  require_on_device(ctx, words_, other.words_);
  require(same_grid(grid_, other.grid_) && unit_ == other.unit_,
          "the two sums have different grids or bounds");
  const Extent n{grid_.extent.x, grid_.extent.y, (components<Values> + 1) * grid_.extent.z};
  for_each_voxel(ctx, n, AddWordsBody{words_.data(), other.words_.data(), n});
  for_each_voxel(
      ctx, Extent{1, 1, 1},
      AddWordsBody{words_.data() + n.count(), other.words_.data() + n.count(), {1, 1, 1}});
}

template <class Values>
Values ExactMean<Values>::mean(Context& ctx) const {
  require_on_device(ctx, words_);
  Values out(ctx, grid_);
  for_each_voxel(
      ctx, grid_.extent,
      ExactMeanBody{words_.data(), out.view().data, grid_.extent, components<Values>, unit_});
  return out;
}

template class ExactMean<Volume<float>>;
template class ExactMean<DisplacementField>;

}  // namespace freeflow
