#include <freeflow/similarity/joint_histogram/joint_histogram.h>

#include <array>
#include <string>

#include <freeflow/core/error.h>
#include <freeflow/core/for_each_voxel.h>
#include <freeflow/similarity/joint_histogram/fixed_window_body.h>
#include <freeflow/similarity/joint_histogram/schemes.h>

namespace freeflow {

namespace {

constexpr std::array scheme_table{
    HistogramSchemeInfo{HistogramScheme::automatic, "auto",
                        "the fastest for the bins and device at hand", true},
    HistogramSchemeInfo{HistogramScheme::global_atomic, "global_atomic",
                        "one histogram per block in global memory, atomics", true},
    HistogramSchemeInfo{HistogramScheme::warp_private, "warp_private",
                        "one histogram per warp in shared memory, passes over the bins", true},
    HistogramSchemeInfo{HistogramScheme::thread_private, "thread_private",
                        "one packed histogram per thread in shared memory", false},
    HistogramSchemeInfo{HistogramScheme::sort_and_count, "sort_and_count",
                        "blocks sort their bins and add up equal ones", true},
    HistogramSchemeInfo{HistogramScheme::multi_bin_cache, "multi_bin_cache",
                        "two bins a word, passes that keep the bin numbers", false},
    HistogramSchemeInfo{HistogramScheme::multi_bin_skip, "multi_bin_skip",
                        "two bins a word, passes that skip by the fixed bin", false},
    HistogramSchemeInfo{HistogramScheme::banded, "banded",
                        "8-bit bins around the diagonal, all flushed on overflow", false},
    HistogramSchemeInfo{HistogramScheme::banded_flush, "banded_flush",
                        "8-bit bins around the diagonal, the full one flushed", false},
    HistogramSchemeInfo{HistogramScheme::shared_atomic, "shared_atomic",
                        "one histogram per block in shared memory, native atomics", true},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < scheme_table.size(); ++i)
    if (std::size_t(scheme_table[i].scheme) != i) return false;
  return true;
}
static_assert(in_enum_order(), "scheme_table must list every HistogramScheme, in order");

/// What the schemes see: the window over the fixed axis comes after them.
HistogramShape counted_shape(HistogramShape shape) {
  if (shape.estimator == Estimator::parzen_both) shape.estimator = Estimator::parzen;
  return shape;
}

std::size_t scheme_scratch(const Context& ctx, HistogramScheme scheme, const HistogramShape& shape,
                           std::size_t max_count) {
  std::size_t bytes = 0;
  backend::dispatch_always(ctx, [&](auto target) {
    bytes = scratch_bytes(target, scheme, counted_shape(shape), max_count);
  });
  return (bytes + 7) / 8;
}

std::size_t unfiltered(const HistogramShape& shape) {
  return shape.estimator == Estimator::parzen_both ? shape.bins() : 0;
}

}  // namespace

std::span<const HistogramSchemeInfo> histogram_schemes() { return scheme_table; }

std::optional<HistogramScheme> parse_histogram_scheme(std::string_view name) {
  if (name == "multi_bin") return HistogramScheme::multi_bin_cache;
  for (const HistogramSchemeInfo& info : scheme_table)
    if (info.name == name) return info.scheme;
  return std::nullopt;
}

void JointHistogram::check(HistogramScheme scheme, const HistogramShape& shape) {
  require(shape.fixed_bins >= 4 && shape.fixed_bins <= 256 && shape.moving_bins >= 4 &&
              shape.moving_bins <= 256,
          "a joint histogram has 4 to 256 bins per axis");
  const HistogramSchemeInfo& info = scheme_table[std::size_t(scheme)];
  require(shape.estimator == Estimator::hard || info.takes_weights,
          "the histogram scheme '" + std::string(info.name) +
              "' only takes the hard estimator; use shared_atomic, or auto");
}

JointHistogram::JointHistogram(Context& ctx, HistogramScheme scheme, const HistogramShape& shape,
                               std::size_t max_count)
    : scheme_(scheme), shape_(shape), max_count_(max_count) {
  check(scheme, shape);
  scratch_ = Buffer<std::uint64_t>(
      ctx, histogram_bytes(ctx, scheme, shape, max_count) / sizeof(std::uint64_t));
}

std::size_t histogram_bytes(const Context& ctx, HistogramScheme scheme, const HistogramShape& shape,
                            std::size_t max_count) {
  return sizeof(std::uint64_t) *
         (unfiltered(shape) + scheme_scratch(ctx, scheme, shape, max_count));
}

void JointHistogram::count(Context& ctx, const HistogramInput& input, std::uint64_t* histogram) {
  require(shape_.estimator == Estimator::hard || !std::holds_alternative<BinnedPair>(input),
          "8-bit bins have no weights: count them with the hard estimator");
  require(
      shape_.estimator != Estimator::partial_volume || std::holds_alternative<WarpedPair>(input),
      "the partial-volume estimator needs the moving image and the map, not samples of it");
  require(count_of(input) <= max_count_,
          "the images are larger than the joint histogram was made for");
  Counting counting{counted_shape(shape_), input, scratch_.data() + unfiltered(shape_), histogram};
  if (shape_.estimator == Estimator::parzen_both) counting.histogram = scratch_.data();
  if (count_of(input) == 0)
    ctx.fill_zero(counting.histogram, shape_.bins() * sizeof(std::uint64_t));
  else
    backend::dispatch(ctx, [&](auto target) { count_joint(target, scheme_, counting); });
  if (shape_.estimator == Estimator::parzen_both)
    for_each_voxel(
        ctx, Extent{shape_.moving_bins, shape_.fixed_bins, 1},
        FixedWindowBody{counting.histogram, histogram, shape_.fixed_bins, shape_.moving_bins});
}

}  // namespace freeflow
