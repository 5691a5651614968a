// The joint histogram of a fixed image's bins and a warped moving image, exact and deterministic:
// masses are 64-bit integers, so the order of additions does not matter. Several interchangeable
// schemes compute the same counts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include <freeflow/core/buffer.h>
#include <freeflow/deform/warp.h>

namespace freeflow {

/// How a voxel's unit of mass is spread over the bins.
enum class Estimator {
  hard,    ///< all of it in one bin
  parzen,  ///< cubic B-spline window over four bins of the moving axis (Mattes 2003): smooth, so it
           ///< has a derivative
  parzen_both,    ///< that, and a cubic window over three bins of the fixed axis, centred on the
                  ///< fixed intensity's bin
  partial_volume  ///< over the bins of the eight moving voxels around the sample, by their
                  ///< trilinear weights (Maes 1997; Shams 2010, eq. 9)
};

/// How the counting is organised on a GPU; the CPU takes every name and has one way. File name =
/// enumerator = command-line word = test suffix = benchmark row. "Weights" says whether a scheme
/// takes the estimators other than hard.
enum class HistogramScheme {
  /// Overview: the scheme that the benchmarks found fastest: shared_atomic.
  automatic,
  /// Overview: one histogram per block in global memory, atomics (Ikeda 2014, kernel 1; Li 2015).
  /// Weights: yes.
  /// Good when: the histogram is large and the image has no large constant region. Needs: up to 64
  /// MiB of scratch.
  global_atomic,
  /// Overview: one histogram per warp in shared memory; the range of bins is covered in passes
  /// (Shams 2010, method 1). Weights: yes.
  /// Good when: the histogram is small. The software mutex of its time is today's native atomic.
  warp_private,
  /// Overview: one packed histogram per thread, b = s_max * 32 / (B * N_b) bits a bin, in shared
  /// memory; a bin that is full moves to the thread's histogram in global memory; then a reduction
  /// (Shams 2010, method 2). Weights: no.
  /// Good when: there are a few hundred bins. Needs: 4 bytes of scratch per bin and thread.
  thread_private,
  /// Overview: each block sorts its voxels' bins by a bitonic network that adds up equal ones, then
  /// updates its histogram in global memory without a conflict (Shams 2010, method 3; 3.4 for
  /// weights). Weights: yes. Good when: there are no atomics. Insensitive to the images.
  sort_and_count,
  /// Overview: two 16-bit bins a word, one histogram per warp in shared memory, passes over the
  /// bins; the first pass keeps every voxel's bin number, the others read it (Ledig 2010, MBE +
  /// BC). Weights: no. Good when: sampling is expensive. Needs: 2 bytes of scratch per voxel.
  multi_bin_cache,
  /// Overview: as above without scratch: a voxel whose fixed bin rules it out of the pass is
  /// skipped before the moving image is touched (Ledig 2010, MBE + STL, eq. 6). Weights: no.
  multi_bin_skip,
  /// Overview: 8-bit bins around the diagonal in shared memory, the others in global memory; when a
  /// bin overflows, the whole histogram is flushed (Ikeda 2014, kernel 2). Weights: no. Good when:
  /// both images have one modality and are nearly aligned.
  banded,
  /// Overview: as above, but only the overflowing bin is flushed (Ikeda 2014, kernel 3). Weights:
  /// no.
  banded_flush,
  /// Overview: one 32-bit histogram per block in shared memory, native atomics; larger ones are
  /// shared out between blocks by rows. Weights: yes. Good when: always, on Maxwell and later.
  shared_atomic,
};

struct HistogramSchemeInfo {
  HistogramScheme scheme;
  std::string_view name;
  std::string_view overview;
  bool takes_weights;  ///< estimators other than hard
};

/// Every scheme, in the order of the enum.
std::span<const HistogramSchemeInfo> histogram_schemes();
/// The scheme of that command-line word ("auto", "shared_atomic"), or nothing. "multi_bin" is
/// multi_bin_cache.
std::optional<HistogramScheme> parse_histogram_scheme(std::string_view name);

struct HistogramShape {
  int fixed_bins = 64, moving_bins = 64;  ///< 4 to 256
  Estimator estimator = Estimator::parzen;

  FREEFLOW_HD std::size_t bins() const { return std::size_t(fixed_bins) * moving_bins; }
  /// The mass of one voxel. A weight is a multiple of 2^-16 of it, those of one voxel sum to
  /// exactly it.
  std::uint64_t unit() const {
    return estimator == Estimator::hard          ? 1
           : estimator == Estimator::parzen_both ? 6 * 65536
                                                 : 65536;
  }
};

/// Two 8-bit images whose values are bins. A value at or above its axis's number of bins does not
/// count. For hard counts.
struct BinnedPair {
  const std::uint8_t *fixed = nullptr, *moving = nullptr;
  std::size_t count = 0;
};

/// Two sampled images. For hard and Parzen estimates.
struct SampledPair {
  /// a voxel with this fixed bin, or whose warped value is NaN, does not count
  static constexpr std::uint16_t no_bin = 0xFFFF;
  const std::uint16_t* fixed_bin = nullptr;
  /// In bins: value b belongs to bin floor(b + 0.5), clipped; Parzen windows clip it to [1,
  /// moving_bins - 2].
  const float* warped = nullptr;
  std::size_t count = 0;
};

/// A fixed image and a moving one that is warped while it is counted; nothing is stored. For every
/// estimator.
struct WarpedPair {
  VolumeView<const std::uint16_t> fixed_bin;  ///< as in SampledPair
  VolumeView<const float> moving;             ///< in bins
  PointMap map;                               ///< fixed voxel indices to moving ones
  FieldView<const float> u;              ///< on the fixed grid, voxels; null data: no displacement
  VolumeView<const float> coefficients;  ///< B-spline coefficients of moving: then samples are
                                         ///< tricubic; null data: trilinear
  int first = 0;                         ///< the fixed grid's slice at which the pair begins
};

using HistogramInput = std::variant<BinnedPair, SampledPair, WarpedPair>;

/// Counts pairs of one shape by one scheme. Holds the scheme's scratch, so that counting allocates
/// nothing.
class JointHistogram {
 public:
  JointHistogram() = default;
  /// max_count: voxels of the largest input. Throws InvalidArgument when the scheme cannot take
  /// this shape.
  JointHistogram(Context& ctx, HistogramScheme scheme, const HistogramShape& shape,
                 std::size_t max_count);

  /// Throws InvalidArgument, with the mend, when the scheme cannot take this shape.
  static void check(HistogramScheme scheme, const HistogramShape& shape);

  /// Overwrites `histogram` (fixed_bins rows of moving_bins masses, device memory). Does not wait.
  /// Throws InvalidArgument when the input cannot serve the estimator.
  void count(Context& ctx, const HistogramInput& input, std::uint64_t* histogram);

  const HistogramShape& shape() const { return shape_; }

 private:
  HistogramScheme scheme_ = HistogramScheme::automatic;
  HistogramShape shape_;
  std::size_t max_count_ = 0;
  Buffer<std::uint64_t> scratch_;
};

/// Bytes of device memory that a JointHistogram takes.
std::size_t histogram_bytes(const Context& ctx, HistogramScheme scheme, const HistogramShape& shape,
                            std::size_t max_count);

}  // namespace freeflow
