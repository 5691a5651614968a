#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>

#include <array>

#include <freeflow/core/error.h>
#include <freeflow/similarity/ratio_histogram/schemes.h>

namespace freeflow {

namespace {

constexpr std::array scheme_table{
    RatioSchemeInfo{RatioScheme::automatic, "auto", "the fastest for the bins and device at hand"},
    RatioSchemeInfo{RatioScheme::global_atomic, "global_atomic",
                    "64-bit atomics on the result in global memory"},
    RatioSchemeInfo{RatioScheme::global_merge, "global_merge",
                    "a histogram per thread in global memory, merged"},
    RatioSchemeInfo{RatioScheme::shared_atomic, "shared_atomic",
                    "a histogram per block in shared memory, added by atomics"},
    RatioSchemeInfo{RatioScheme::shared_merge, "shared_merge",
                    "a histogram per block in shared memory, merged by a second kernel"},
    RatioSchemeInfo{RatioScheme::shared_warp, "shared_warp",
                    "a histogram per warp in shared memory"},
    RatioSchemeInfo{RatioScheme::conflict_free, "conflict_free",
                    "voxels sorted by bin once per level, sums in registers"},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < scheme_table.size(); ++i)
    if (std::size_t(scheme_table[i].scheme) != i) return false;
  return true;
}
static_assert(in_enum_order(), "scheme_table must list every RatioScheme, in order");

}  // namespace

std::span<const RatioSchemeInfo> ratio_schemes() { return scheme_table; }

std::optional<RatioScheme> parse_ratio_scheme(std::string_view name) {
  for (const RatioSchemeInfo& info : scheme_table)
    if (info.name == name) return info.scheme;
  return std::nullopt;
}

RatioPlan::RatioPlan(Context& ctx, RatioScheme wanted, const RatioShape& of,
                     const RatioInput& input, const RatioLaunch& how)
    : scheme(wanted), shape(of), launch(how), most_candidates(input.candidates) {
  const bool reverse = shape.direction == RatioDirection::fixed_given_moving;
  require(shape.bins >= (reverse ? 4 : 2) && shape.bins <= 256,
          "a correlation ratio has 2 to 256 bins, eta(fixed | moving) 4 to 256");
  require(!reverse || scheme != RatioScheme::conflict_free,
          "conflict_free sorts the bins of the fixed image, but eta(fixed | moving) has its bins "
          "on the moving one; take shared_warp or auto");
  require(input.extent.count() < (std::size_t(1) << 31),
          "a correlation ratio takes at most 2^31 voxels");
  require(input.candidates >= 1 && input.candidates <= 65535,
          "a launch scores 1 to 65535 candidates");
  require(launch.blocks >= 0 && launch.workload_bound >= 0,
          "numbers of blocks and voxels are not negative");
  require(launch.threads % 32 == 0 && launch.threads >= 0 && launch.threads <= 1024,
          "threads per block are 32, 64, ... 1024");
  require(launch.workload_bound % 128 == 0 && launch.workload_bound <= 16384,
          "the workload bound is 128, 256, ... 16384 voxels");
  backend::dispatch_always(ctx, [&](auto target) { prepare_ratio(ctx, target, *this, input); });
}

void RatioPlan::require_fits(const RatioInput& input) const {
  require(input.candidates >= 1 && input.candidates <= most_candidates,
          "the plan was made for fewer candidates");
  require(input.candidates == 1 || input.maps,
          "several candidates need their maps in device memory");
}

void add_ratio_sums(Context& ctx, const RatioPlan& plan, const RatioInput& input,
                    std::uint64_t* sums) {
  plan.require_fits(input);
  backend::dispatch(ctx, [&](auto target) { count_ratio(target, plan, input, sums); });
}

void ratio_sums(Context& ctx, const RatioPlan& plan, const RatioInput& input, std::uint64_t* sums) {
  plan.require_fits(input);
  ctx.fill_zero(sums, std::size_t(input.candidates) * plan.shape.words() * sizeof(std::uint64_t));
  add_ratio_sums(ctx, plan, input, sums);
}

void ratio_statistics(Context& ctx, const RatioShape& shape, const std::uint64_t* sums,
                      int candidates, RatioStatistics* statistics) {
  backend::dispatch(
      ctx, [&](auto target) { ratio_statistics(target, shape, sums, candidates, statistics); });
}

void finish_ratio(Context& ctx, const RatioShape& shape, std::uint64_t* sums,
                  const RatioOutputs& outputs) {
  backend::dispatch(ctx, [&](auto target) { finish_ratio(target, shape, sums, outputs); });
}

}  // namespace freeflow
