// The joint histogram of a fixed image's bins and a warped moving image, exact and deterministic: masses are 64-bit
// integers, so the order of additions does not matter. Several interchangeable schemes compute the same counts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <freeflow/core/buffer.h>

namespace freeflow {

/// How a voxel's unit of mass is spread over the bins of the moving axis (the fixed axis is always a hard bin).
enum class Estimator {
  hard,   ///< all of it in one bin
  parzen  ///< cubic B-spline window over four bins (Mattes 2003): smooth, so it has a derivative
};

/// How the counting is organised. File name = enumerator = command-line word = test suffix = benchmark row.
enum class HistogramScheme {
  /// Overview: the scheme that the benchmarks found fastest for the sizes at hand.
  automatic,
  /// Overview: one 32-bit histogram per block in shared memory, native atomics, one 64-bit flush per block.
  /// Good when: fixed_bins * moving_bins * 4 bytes fit in a block's shared memory (227 KiB on Hopper); larger ones take passes.
  shared_atomic,
};

struct HistogramSchemeInfo {
  HistogramScheme scheme;
  std::string_view name;
  std::string_view overview;
};

/// Every scheme, in the order of the enum.
std::span<const HistogramSchemeInfo> histogram_schemes();
/// The scheme of that command-line word ("auto", "shared_atomic"), or nothing.
std::optional<HistogramScheme> parse_histogram_scheme(std::string_view name);

/// Two sampled images. A voxel with fixed bin `no_bin`, or whose warped value is NaN, does not count.
struct HistogramInput {
  static constexpr std::uint16_t no_bin = 0xFFFF;
  const std::uint16_t* fixed_bin = nullptr;
  const float* warped = nullptr;  ///< in bins: value b belongs to bin floor(b + 0.5); parzen wants 1 <= b <= moving_bins - 2
  std::size_t count = 0;
};

struct HistogramShape {
  int fixed_bins = 64, moving_bins = 64;
  Estimator estimator = Estimator::parzen;

  std::size_t bins() const { return std::size_t(fixed_bins) * moving_bins; }
  /// The mass of one voxel: weights are multiples of 1 / unit and sum to exactly one unit.
  std::uint64_t unit() const { return estimator == Estimator::hard ? 1 : 65536; }
};

/// Counts `input` into `histogram` (fixed_bins rows of moving_bins masses, device memory), overwriting it. Does not wait.
/// Throws InvalidArgument when the scheme cannot take this shape on this device.
void joint_histogram(Context& ctx, HistogramScheme scheme, const HistogramShape& shape, const HistogramInput& input,
                     std::uint64_t* histogram);

}  // namespace freeflow
