#include <freeflow/similarity/joint_histogram/joint_histogram.h>

#include <array>

#include <freeflow/core/error.h>
#include <freeflow/similarity/joint_histogram/schemes.h>

namespace freeflow {

namespace {

constexpr std::array scheme_table{
    HistogramSchemeInfo{HistogramScheme::automatic, "auto", "the fastest for the bins and device at hand"},
    HistogramSchemeInfo{HistogramScheme::shared_atomic, "shared_atomic", "one histogram per block in shared memory, native atomics"},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < scheme_table.size(); ++i)
    if (std::size_t(scheme_table[i].scheme) != i) return false;
  return true;
}
static_assert(in_enum_order(), "scheme_table must list every HistogramScheme, in order");

}  // namespace

std::span<const HistogramSchemeInfo> histogram_schemes() { return scheme_table; }

std::optional<HistogramScheme> parse_histogram_scheme(std::string_view name) {
  for (const HistogramSchemeInfo& info : scheme_table)
    if (info.name == name) return info.scheme;
  return std::nullopt;
}

void joint_histogram(Context& ctx, HistogramScheme scheme, const HistogramShape& shape, const HistogramInput& input,
                     std::uint64_t* histogram) {
  require(shape.fixed_bins >= 1 && shape.fixed_bins <= 256 && shape.moving_bins >= 4 && shape.moving_bins <= 256,
          "a joint histogram has 1 to 256 fixed bins and 4 to 256 moving bins");
  ctx.fill_zero(histogram, shape.bins() * sizeof(std::uint64_t));
  backend::dispatch(ctx, [&](auto target) { count_joint(target, scheme, shape, input, histogram); });
}

}  // namespace freeflow
