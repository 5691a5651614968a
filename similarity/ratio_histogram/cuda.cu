// Picks the CUDA kernel of a scheme and its launch sizes. A new scheme is one file and one line in
// count_ratio.
#include <algorithm>
#include <string>

#include <freeflow/core/error.h>
#include <freeflow/similarity/ratio_histogram/statistics_body.h>
#include <freeflow/core/reduce.cuh>
#include <freeflow/similarity/ratio_histogram/job.cuh>

namespace freeflow {

namespace {

struct DefaultLaunch {
  int threads, blocks_per_processor;
};

/// Measured on an H200 with 256 x 256 x 160 voxels and 256 bins (bench_ratio).
DefaultLaunch default_launch(RatioScheme scheme) {
  switch (scheme) {
    case RatioScheme::global_atomic: return {256, 8};
    case RatioScheme::global_merge: return {128, 1};
    default: return {256, 8};
  }
}

constexpr int default_workload_bound = 4096;

/// Shared memory of a block.
std::size_t shared_bytes(const RatioPlan& plan) {
  const bool wide = plan.shape.unit() > 1;
  const std::size_t histogram = std::size_t(plan.shape.bins) * (wide ? 3 : 2) * sizeof(unsigned);
  if (plan.scheme == RatioScheme::conflict_free) return conflict_free_shared_bytes(plan);
  if (plan.scheme == RatioScheme::shared_warp) return histogram * (plan.launch.threads / 32);
  return plan.scheme == RatioScheme::shared_atomic || plan.scheme == RatioScheme::shared_merge
             ? histogram
             : 0;
}

/// By a block, to its first thread.
__device__ RatioStatistics block_statistics(int bins, double unit, const std::uint64_t* sums) {
  __shared__ double lane[reduction::lanes], term[RatioTerm::terms];
  const RatioTerm body{{}, sums, bins};
  for (int t = 0; t < RatioTerm::terms; ++t) {
    lane[threadIdx.x] =
        int(threadIdx.x) < bins ? RatioTerm::combine(0.0, body(threadIdx.x, t)) : 0.0;
    fold_lanes(
        lane, [](double a, double b) { return RatioTerm::combine(a, b); }, term + t);
    __syncthreads();
  }
  return threadIdx.x == 0 ? ratio_statistics_from(term, body.square(), unit) : RatioStatistics{};
}

__global__ void __launch_bounds__(reduction::lanes)
    statistics_kernel(int bins, double unit, const std::uint64_t* sums,
                      RatioStatistics* statistics) {
  const RatioStatistics found =
      block_statistics(bins, unit, sums + blockIdx.x * (2 * std::size_t(bins) + 2));
  if (threadIdx.x == 0) statistics[blockIdx.x] = found;
}

/// Statistics, means and the next count's zeros in one launch: each costs more to launch than to
/// do.
__global__ void __launch_bounds__(reduction::lanes)
    finish_kernel(int bins, double unit, std::uint64_t* sums, RatioOutputs outputs) {
  __shared__ RatioStatistics whole;
  const RatioStatistics found = block_statistics(bins, unit, sums);
  const int bin = threadIdx.x;
  if (bin == 0) {
    *outputs.statistics = whole = found;
    *outputs.cost = found.cost;
    sums[2 * bins] = sums[2 * bins + 1] = 0;
  }
  __syncthreads();
  if (bin >= bins) return;
  outputs.means[bin] = ratio_mean(sums, bins, bin, whole);
  sums[bin] = sums[bins + bin] = 0;
}

}  // namespace

void prepare_ratio(Context& ctx, backend::Cuda cuda, RatioPlan& plan, const RatioInput& input) {
  int device, processors, most_shared;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  cuda_check(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (plan.scheme == RatioScheme::automatic)
    plan.scheme = plan.shape.direction == RatioDirection::moving_given_fixed
                      ? RatioScheme::conflict_free
                      : RatioScheme::shared_atomic;
  RatioLaunch& launch = plan.launch;
  const DefaultLaunch usual = default_launch(plan.scheme);
  if (launch.threads == 0) launch.threads = usual.threads;
  if (launch.workload_bound == 0) launch.workload_bound = default_workload_bound;
  const std::size_t pieces = ratio::Pieces(input.extent).count;
  const std::size_t useful =
      std::max<std::size_t>(1, (pieces * 32 + launch.threads - 1) / launch.threads);
  if (launch.blocks == 0) {
    const int share = plan.scheme == RatioScheme::global_merge
                          ? 1
                          : plan.most_candidates;  // candidates share the processors
    launch.blocks = int(std::min<std::size_t>(
        useful, std::max(1, processors * usual.blocks_per_processor / share)));
  }
  require(shared_bytes(plan) <= std::size_t(most_shared),
          "the histograms of a block do not fit in shared memory; take fewer threads per block or "
          "fewer bins");
  if (plan.scheme == RatioScheme::conflict_free) presort_ratio(ctx, cuda, plan, input);
  const std::size_t threads = std::size_t(launch.blocks) * launch.threads;
  if (plan.scheme == RatioScheme::global_merge) {
    require((pieces + threads / 32 - 1) / (threads / 32) * ratio::per_lane <= 65535,
            "global_merge overflows with so few threads; take more blocks");
    plan.scratch =
        Buffer<std::uint32_t>(ctx, threads * plan.shape.bins * (plan.shape.unit() > 1 ? 3 : 2));
  }
  if (plan.scheme == RatioScheme::shared_merge)
    plan.scratch = Buffer<std::uint32_t>(
        ctx, std::size_t(launch.blocks) * plan.most_candidates * plan.shape.bins * 4);
}

void count_ratio(backend::Cuda cuda, const RatioPlan& plan, const RatioInput& input,
                 std::uint64_t* sums) {
  switch (plan.scheme) {
    case RatioScheme::global_atomic: return ratio_global_atomic(cuda, plan, input, sums);
    case RatioScheme::global_merge: return ratio_global_merge(cuda, plan, input, sums);
    case RatioScheme::automatic:
    case RatioScheme::shared_atomic: return ratio_shared_atomic(cuda, plan, input, sums);
    case RatioScheme::shared_merge: return ratio_shared_merge(cuda, plan, input, sums);
    case RatioScheme::shared_warp: return ratio_shared_warp(cuda, plan, input, sums);
    case RatioScheme::conflict_free: return ratio_conflict_free(cuda, plan, input, sums);
  }
}

void ratio_statistics(backend::Cuda cuda, const RatioShape& shape, const std::uint64_t* sums,
                      int candidates, RatioStatistics* statistics) {
  statistics_kernel<<<candidates, reduction::lanes, 0, ratio::stream_of(cuda)>>>(
      shape.bins, double(shape.unit()), sums, statistics);
  cuda_check(cudaGetLastError());
}

void finish_ratio(backend::Cuda cuda, const RatioShape& shape, std::uint64_t* sums,
                  const RatioOutputs& outputs) {
  finish_kernel<<<1, reduction::lanes, 0, ratio::stream_of(cuda)>>>(
      shape.bins, double(shape.unit()), sums, outputs);
  cuda_check(cudaGetLastError());
}

}  // namespace freeflow
