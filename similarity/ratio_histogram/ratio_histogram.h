// The sums of the correlation ratio (Roche 1998; Li 2015, eq. 2-4), with the trilinear warp fused
// into the counting: per bin i the mass N_i and the intensity S_i = sum w y, and once per image Q =
// sum w y^2. That is all eta takes, because
//   1 - eta = sum_i N_i var_i / (N var) = (Q - sum_i S_i^2 / N_i) / (Q - S^2 / N).
// Everything is integer: y is an intensity in 0 .. 65534 (one step is 1.5e-5 of the range), w a
// weight in multiples of 1 / unit. So every scheme, device and number of threads gives the same
// bits. Against double arithmetic eta is off by at most about 5e-5 / sqrt(voxels) (rounding errors
// of y average out): 1e-6 from 3000 voxels on.
//
// Which image has the bins is the direction. A bin of the fixed image is hard; a bin of the warped
// moving image is spread by a cubic Parzen window, so that it has a derivative.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <freeflow/core/buffer.h>
#include <freeflow/core/views.h>

namespace freeflow {

/// How the counting is organised (Li 2015, section 3). File name = enumerator = command-line word =
/// test suffix = benchmark row.
enum class RatioScheme {
  /// Overview: the scheme that the benchmarks found fastest: conflict_free where bins lie on the
  /// fixed image, else shared_atomic.
  automatic,
  /// Overview: every voxel adds to the result in global memory with native 64-bit atomics.
  /// Good when: never the fastest; the base line. Needs nothing.
  global_atomic,
  /// Overview: a private histogram per thread in global memory, merged in the end. No atomics.
  /// Good when: bins are few. Needs threads * bins * 8 bytes of device memory (12 with weights).
  global_merge,
  /// Overview: a histogram per block in shared memory, then 64-bit atomics on the result.
  shared_atomic,
  /// Overview: a histogram per block in shared memory, then a second kernel that merges the blocks.
  /// No global atomics.
  shared_merge,
  /// Overview: a histogram per warp in shared memory, merged in the block, then 64-bit atomics on
  /// the result.
  /// Good when: the warps of a block fight for the same bins.
  shared_warp,
  /// Overview: the fixed voxels are sorted by bin once per level, within tiles, so that a thread
  /// only sums voxels of one bin.
  /// Good when: a level is evaluated more than about fifteen times: the sorting takes as long as
  /// two to four evaluations. Needs bins on the fixed image, 3 bytes per fixed voxel.
  conflict_free,
};

struct RatioSchemeInfo {
  RatioScheme scheme;
  std::string_view name;
  std::string_view overview;
};

/// Every scheme, in the order of the enum.
std::span<const RatioSchemeInfo> ratio_schemes();
/// The scheme of that command-line word ("auto", "conflict_free"), or nothing.
std::optional<RatioScheme> parse_ratio_scheme(std::string_view name);

enum class RatioDirection {
  moving_given_fixed,  ///< eta(moving | fixed): bins on the fixed image
  fixed_given_moving   ///< eta(fixed | moving): bins on the warped moving image
};

/// What is counted.
struct RatioShape {
  int bins = 256;  ///< 2 to 256; fixed_given_moving 4 to 256
  RatioDirection direction = RatioDirection::moving_given_fixed;
  /// the nearest voxel instead of the trilinear value (Li's first two stages)
  bool nearest = false;
  /// Width over which a weight falls from 1 to 0 towards the border of the moving image's field of
  /// view (Li 5.3), in voxels of the moving image per axis; 0 is off.
  Vec3f border = {};

  bool weighted() const { return border.x > 0 || border.y > 0 || border.z > 0; }
  /// The mass of one voxel of full weight.
  std::uint32_t unit() const {
    return weighted() || direction == RatioDirection::fixed_given_moving ? 65536 : 1;
  }
  /// Words of a result: N_i of all bins, S_i of all bins, then Q as low and high: Q = high * 2^32 +
  /// low.
  std::size_t words() const { return 2 * std::size_t(bins) + 2; }
};

/// How a GPU spreads the work over one candidate; 0 is automatic. The CPU ignores it.
struct RatioLaunch {
  int blocks = 0;
  int threads = 0;         ///< per block: 32, 64, ... 1024
  int workload_bound = 0;  ///< conflict_free: the voxels of a tile, 128, 256, ... 16384
};

/// The two images. A voxel does not count where the fixed plane has no_value or the warped image is
/// NaN.
struct RatioInput {
  static constexpr std::uint16_t no_value = 0xFFFF;
  static constexpr float most = 65534.0f;  ///< the largest y

  Extent extent;                         ///< of the fixed grid
  const std::uint16_t* fixed = nullptr;  ///< bins below shape.bins, or y
  VolumeView<const float> moving;        ///< y in [0, most], or in bins: 1 <= b <= bins - 2
  PointMap map;                          ///< fixed voxels to moving voxels
  FieldView<const float> u;  ///< displacement in voxels of the fixed grid; null data: none
  /// Many candidates in one launch: their maps, in device memory, instead of `map`.
  const PointMap* maps = nullptr;
  int candidates = 1;
};

/// What a scheme prepares once per level: launch sizes, scratch memory, the presort.
class RatioPlan {
 public:
  RatioPlan() = default;
  /// Reads the fixed plane (input.extent, input.fixed), which must stay as it is; input.candidates
  /// is the most that a call will bring. May wait. Throws InvalidArgument when the scheme cannot
  /// take this shape or launch, with the mend.
  RatioPlan(Context& ctx, RatioScheme scheme, const RatioShape& shape, const RatioInput& input,
            const RatioLaunch& launch = {});

  /// Throws InvalidArgument where a call brings more candidates than the plan is for, or several
  /// without maps.
  void require_fits(const RatioInput& input) const;

  /// Of conflict_free: the fixed grid in tiles of at most `workload_bound` voxels, each sorted by
  /// bin.
  struct Presort {
    Buffer<std::uint16_t> slot;  ///< per voxel: its place in the sorted tile, no_value for none
    Buffer<std::uint16_t>
        runs;  ///< per tile up to most_runs(): bin + 256 * (voxels - 1) of every eight slots
    Buffer<std::uint32_t> runs_of_tile;  ///< how many
  };

  RatioScheme scheme = RatioScheme::automatic;  ///< never automatic on CUDA
  RatioShape shape;
  RatioLaunch launch;
  int most_candidates = 1;
  Buffer<std::uint32_t> scratch;  ///< of the merging schemes
  Presort presort;
};

/// Counts into `sums` (device memory, input.candidates times shape.words()), which must hold zeros.
/// Neither allocates nor waits.
void add_ratio_sums(Context& ctx, const RatioPlan& plan, const RatioInput& input,
                    std::uint64_t* sums);
/// The same, overwriting `sums`.
void ratio_sums(Context& ctx, const RatioPlan& plan, const RatioInput& input, std::uint64_t* sums);

/// What the sums say about one candidate.
struct RatioStatistics {
  double cost;    ///< 1 - eta in [0, 1]; 1 where y is constant, NaN without overlap
  double mass;    ///< N, in voxels
  double mean;    ///< of y
  double spread;  ///< N var, in voxels and units of y
};

/// The statistics of each candidate; both in device memory. Does not wait.
void ratio_statistics(Context& ctx, const RatioShape& shape, const std::uint64_t* sums,
                      int candidates, RatioStatistics* statistics);

/// What a measure wants of one candidate's sums; device memory.
struct RatioOutputs {
  RatioStatistics* statistics;
  float* means;  ///< of each bin, as a part of the range of y; an empty bin has that of the whole
  double* cost;
};

/// Finishes one candidate in one launch, and leaves zeros in `sums` for the next add_ratio_sums.
/// Does not wait.
void finish_ratio(Context& ctx, const RatioShape& shape, std::uint64_t* sums,
                  const RatioOutputs& outputs);

}  // namespace freeflow
