// The voxels sorted by bin once per level; a block works on a share of one bin, sums in registers and adds three numbers in
// the end (Li's scheme 5). A share has at most `workload_bound` voxels, so a bin with most of the voxels occupies many blocks.
#include <cub/device/device_radix_sort.cuh>

#include <vector>

#include <freeflow/similarity/ratio_histogram/job.cuh>

namespace freeflow {

namespace {

/// n / d for n < 2^31 by a multiplication.
struct Divider {
  std::uint32_t d;
  std::uint32_t factor;
  int shift;
  explicit Divider(std::uint32_t divisor) : d(divisor), shift(31) {
    while ((std::uint64_t(1) << (shift - 31)) < d) ++shift;
    factor = std::uint32_t(((std::uint64_t(1) << shift) + d - 1) / d);
  }
  __device__ std::uint32_t operator()(std::uint32_t n) const { return std::uint32_t((std::uint64_t(n) * factor) >> shift); }
};

template <class Voxel>
__global__ void __launch_bounds__(1024) conflict_free_kernel(ratio::Job<Voxel> job, const std::uint32_t* order,
                                                             const RatioPlan::Presort::Share* shares, Divider row, Divider slice) {
  __shared__ unsigned long long lanes[32];
  job.choose_candidate();
  const RatioPlan::Presort::Share share = shares[blockIdx.x];
  unsigned long long n = 0, s = 0;
  ratio::Square<Voxel::wide> square;
#pragma unroll 4
  for (std::uint32_t i = share.begin + threadIdx.x; i < share.end; i += blockDim.x) {
    const std::uint32_t index = order[i], r = row(index), z = slice(r);
    const auto v = job.voxel.at(int(index - r * row.d), int(r - z * slice.d), int(z), std::uint16_t(share.bin));
    n += v.mass[0];
    s += static_cast<unsigned long long>(v.mass[0]) * v.y;
    square.add(v.mass[0], v.y);
  }
  ratio::add_block_sum(n, job.count(int(share.bin)), lanes);
  ratio::add_block_sum(s, job.sum(int(share.bin)), lanes);
  ratio::add_block_square(square, job.square());
}

__global__ void number_kernel(std::uint32_t* index, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) index[i] = i;
}

/// first[b]: how many sorted voxels have a bin below b.
__global__ void find_bins_kernel(const std::uint16_t* sorted, std::uint32_t count, int bins, std::uint32_t* first) {
  const int bin = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (bin > bins) return;
  std::uint32_t low = 0, high = count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (int(sorted[middle]) < bin)
      low = middle + 1;
    else
      high = middle;
  }
  first[bin] = low;
}

}  // namespace

void presort_ratio(Context& ctx, backend::Cuda cuda, RatioPlan& plan, const RatioInput& input) {
  const auto count = std::uint32_t(input.extent.count());
  const cudaStream_t stream = ratio::stream_of(cuda);
  constexpr int threads = 256, key_bits = 9;  // no_value's lowest nine bits come after every bin
  const Buffer<std::uint32_t> index(ctx, count), first(ctx, plan.shape.bins + 1);
  const Buffer<std::uint16_t> sorted(ctx, count);
  plan.presort.order = Buffer<std::uint32_t>(ctx, count);
  number_kernel<<<(count + threads - 1) / threads, threads, 0, stream>>>(index.data(), count);
  cuda_check(cudaGetLastError());
  std::size_t bytes = 0;
  const auto sort = [&](void* scratch) {
    cuda_check(cub::DeviceRadixSort::SortPairs(scratch, bytes, input.fixed, sorted.data(), index.data(), plan.presort.order.data(), count,
                                               0, key_bits, stream));
  };
  sort(nullptr);
  const Buffer<char> scratch(ctx, bytes);
  sort(scratch.data());
  find_bins_kernel<<<(plan.shape.bins + threads) / threads, threads, 0, stream>>>(sorted.data(), count, plan.shape.bins, first.data());
  cuda_check(cudaGetLastError());

  const std::vector<std::uint32_t> starts = first.to_host(ctx);
  std::vector<RatioPlan::Presort::Share> shares;
  const auto bound = std::uint32_t(plan.launch.workload_bound);
  for (std::uint32_t bin = 0; bin + 1 < starts.size(); ++bin)
    for (std::uint32_t begin = starts[bin]; begin < starts[bin + 1]; begin += bound)
      shares.push_back({begin, std::min(begin + bound, starts[bin + 1]), bin});
  plan.presort.shares = Buffer<RatioPlan::Presort::Share>(ctx, shares);
  plan.launch.blocks = int(shares.size());
}

void ratio_conflict_free(backend::Cuda cuda, const RatioPlan& plan, const RatioInput& input, std::uint64_t* sums) {
  if (plan.launch.blocks == 0) return;  // no voxel counts
  with_ratio_voxel(plan.shape, input, [&](const auto& voxel) {
    if constexpr (std::remove_cvref_t<decltype(voxel)>::taps == 1) {
      conflict_free_kernel<<<dim3(plan.launch.blocks, input.candidates), plan.launch.threads, 0, ratio::stream_of(cuda)>>>(
          ratio::Job(voxel, input, sums), plan.presort.order.data(), plan.presort.shares.data(), Divider(std::uint32_t(input.extent.x)),
          Divider(std::uint32_t(input.extent.y)));
      cuda_check(cudaGetLastError());
    }
  });
}

}  // namespace freeflow
