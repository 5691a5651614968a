// Li's scheme 5: the fixed voxels are sorted by bin once per level, so that a thread sums voxels of
// one bin in registers. Li sorts the whole image. Where caches count that loses: neighbours in a
// bin are strangers in space, and a sample fetches eight words from as many lines (an H200 took 120
// us on a head and 380 us on noise; sorted within tiles 74 and 76 us). So the sorting is done
// within tiles of `workload_bound` voxels. A block samples a tile in the images' order and drops
// every y into its sorted slot in shared memory: no two voxels share one. Then each thread sums
// runs of eight slots of one bin and adds them to the block's histogram, whole warps of one bin as
// one. A bin's run is padded with empty slots to eight. Bound: one slot (2 bytes) and one moving
// voxel read per voxel; in truth instructions, and the eight words per sample that L1 hands out.
#include <freeflow/similarity/ratio_histogram/shared.cuh>

namespace freeflow {

namespace {

constexpr int run_slots = 8;

/// Each bin pads at most one run.
__host__ __device__ int most_runs(int tile_voxels, int bins) {
  return tile_voxels / run_slots + bins;
}

struct Tiles {
  const std::uint16_t *slot, *runs;
  const std::uint32_t* runs_of_tile;
  unsigned count, pieces_of_tile;
  int most_runs;
};

/// A tile in shared memory: y + 1 per slot, 0 where empty; the masses where they differ.
template <bool wide>
struct SortedTile {
  uint4* y;
  std::uint32_t* mass;  // wide only

  __device__ void put(std::uint16_t slot, std::uint32_t value, std::uint32_t m) const {
    reinterpret_cast<std::uint16_t*>(y)[slot] = std::uint16_t(value + 1);
    if constexpr (wide) mass[slot] = m;
  }

  /// Takes a run out: its mass and sum of mass * y. `complete`: every voxel of the run counts, with
  /// full weight.
  __device__ void take(int run, unsigned voxels, bool complete, std::uint32_t& n,
                       unsigned long long& s) const {
    const uint4 four = y[run];
    y[run] = uint4{0, 0, 0, 0};
    const unsigned word[4] = {four.x, four.y, four.z, four.w};
    if (complete) {
      unsigned sum = 0;
      for (int k = 0; k < 4; ++k) sum += (word[k] & 0xFFFF) + (word[k] >> 16);
      n = voxels * (wide ? 65536u : 1u);
      s = static_cast<unsigned long long>(sum - voxels) * (wide ? 65536u : 1u);
      return;
    }
    n = 0;
    s = 0;
    for (int k = 0; k < run_slots; ++k) {
      const unsigned v = word[k / 2] >> 16 * (k % 2) & 0xFFFF;
      if (v == 0) continue;
      const std::uint32_t m = wide ? mass[run * run_slots + k] : 1u;
      n += m;
      s += static_cast<unsigned long long>(m) * (v - 1);
    }
  }
};

template <class Voxel>
__global__ void __launch_bounds__(1024) conflict_free_kernel(ratio::Job<Voxel> job, Tiles tiles) {
  extern __shared__ uint4 memory[];
  constexpr bool wide = Voxel::wide;
  using Counters = ratio::SharedCounters<wide>;
  const int slots = tiles.most_runs * run_slots, lane = threadIdx.x & 31;
  const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32,
                 flush_after = 65535 / (tiles.pieces_of_tile * ratio::piece_voxels);
  const SortedTile<wide> tile{memory, reinterpret_cast<std::uint32_t*>(memory + tiles.most_runs)};
  unsigned* const data = reinterpret_cast<unsigned*>(memory + tiles.most_runs) + (wide ? slots : 0);
  const Counters counters{data, job.bins};
  job.choose_candidate();
  for (int i = threadIdx.x; i < tiles.most_runs; i += blockDim.x) memory[i] = uint4{0, 0, 0, 0};
  for (int i = threadIdx.x; i < Counters::words * job.bins; i += blockDim.x) data[i] = 0;
  __syncthreads();

  const auto flush = [&] {
    ratio::flush_shared<wide>(data, job.bins, 1,
                              [&](int bin, unsigned long long n, unsigned long long s) {
                                if (n) atomicAdd(job.count(bin), n);
                                if (s) atomicAdd(job.sum(bin), s);
                              });
  };
  ratio::Square<wide> square;
  unsigned taken = 0;
  for (unsigned t = blockIdx.x; t < tiles.count; t += gridDim.x) {
    const unsigned first = t * tiles.pieces_of_tile,
                   last = min(job.pieces.count, first + tiles.pieces_of_tile);
    bool partial = false;
    for (unsigned piece = first + warp; piece < last; piece += warps) {
      const auto samples = job.sample(piece, tiles.slot);
#pragma unroll
      for (int k = 0; k < ratio::per_lane; ++k) {
        const std::uint16_t slot = samples.fixed[k];
        const auto v =
            job.voxel(samples.v[k], slot,
                      samples.mass[k]);  // the slot stands in for the bin: only no_value matters
        square.add(v.mass[0], v.y);
        if (v.bin >= 0) tile.put(slot, v.y, v.mass[0]);
        partial |= slot != RatioInput::no_value && (v.bin < 0 || v.mass[0] != Voxel::full_mass);
      }
    }
    const bool complete = !__syncthreads_or(partial);
    const int runs = int(tiles.runs_of_tile[t]);
    for (int base = int(warp) * 32; base < runs; base += int(blockDim.x)) {
      const int run = base + lane;
      std::uint32_t n = 0;
      unsigned long long s = 0;
      int bin = -1;
      if (run < runs) {
        const unsigned info = tiles.runs[std::size_t(t) * tiles.most_runs + run];
        bin = int(info & 255);
        tile.take(run, (info >> 8) + 1, complete, n, s);
      }
      ratio::add_warp_sums<wide>(counters, bin, n, s);
    }
    __syncthreads();
    if (++taken % flush_after == 0) {
      flush();
      __syncthreads();
      for (int i = threadIdx.x; i < Counters::words * job.bins; i += blockDim.x) data[i] = 0;
      __syncthreads();
    }
  }
  flush();
  ratio::add_block_square(square, job.square());
}

/// Sorts one tile, by one warp: voxels keep their order within a bin.
__global__ void __launch_bounds__(32)
    presort_kernel(const std::uint16_t* fixed, ratio::Pieces pieces, unsigned pieces_of_tile,
                   int bins, int most_runs, std::uint16_t* slot, std::uint16_t* runs,
                   std::uint32_t* runs_of_tile) {
  __shared__ unsigned count[256], start[256];
  const int lane = threadIdx.x;
  const unsigned first = blockIdx.x * pieces_of_tile,
                 last = min(pieces.count, first + pieces_of_tile);
  // f(voxel, bin, lanes of that bin), 32 voxels at a time.
  const auto for_voxels = [&](auto f) {
    for (unsigned piece = first; piece < last; ++piece) {
      const ratio::Pieces::Column c = pieces.column(piece);
      for (int k = 0; k < ratio::per_lane; ++k) {
        const std::size_t i = c.i + std::size_t(k) * pieces.extent.x;
        const unsigned bin = k < c.rows ? fixed[i] : RatioInput::no_value;
        const unsigned peers = __match_any_sync(~0u, bin);
        if (bin != RatioInput::no_value)
          f(i, bin, peers);
        else if (k < c.rows)
          slot[i] = RatioInput::no_value;
        __syncwarp();
      }
    }
  };
  for (int b = lane; b < 256; b += 32) count[b] = 0;
  __syncwarp();
  for_voxels([&](std::size_t, unsigned bin, unsigned peers) {
    if (lane == __ffs(peers) - 1) count[bin] += __popc(peers);
  });
  int total = 0;  // runs so far
  for (int b = 0; b < bins; ++b) {
    const int voxels = int(count[b]), of_bin = (voxels + run_slots - 1) / run_slots;
    for (int r = lane; r < of_bin; r += 32)
      runs[std::size_t(blockIdx.x) * most_runs + total + r] =
          std::uint16_t(b | (min(run_slots, voxels - r * run_slots) - 1) << 8);
    __syncwarp();
    if (lane == 0) start[b] = total * run_slots;
    total += of_bin;
  }
  if (lane == 0) runs_of_tile[blockIdx.x] = total;
  __syncwarp();
  for_voxels([&](std::size_t i, unsigned bin, unsigned peers) {
    const unsigned begin = start[bin];
    __syncwarp(peers);
    slot[i] = std::uint16_t(begin + __popc(peers & ((1u << lane) - 1)));
    if (lane == __ffs(peers) - 1) start[bin] = begin + __popc(peers);
  });
}

unsigned pieces_of_tile(const RatioPlan& plan) {
  return unsigned(plan.launch.workload_bound) / ratio::piece_voxels;
}

}  // namespace

void presort_ratio(Context& ctx, backend::Cuda cuda, RatioPlan& plan, const RatioInput& input) {
  const ratio::Pieces pieces(input.extent);
  const unsigned tiles = (pieces.count + pieces_of_tile(plan) - 1) / pieces_of_tile(plan);
  const int runs = most_runs(plan.launch.workload_bound, plan.shape.bins);
  plan.presort.slot = Buffer<std::uint16_t>(ctx, input.extent.count());
  plan.presort.runs = Buffer<std::uint16_t>(ctx, std::size_t(tiles) * runs);
  plan.presort.runs_of_tile = Buffer<std::uint32_t>(ctx, tiles);
  if (ctx.rehearses()) return;
  presort_kernel<<<tiles, 32, 0, ratio::stream_of(cuda)>>>(
      input.fixed, pieces, pieces_of_tile(plan), plan.shape.bins, runs, plan.presort.slot.data(),
      plan.presort.runs.data(), plan.presort.runs_of_tile.data());
  cuda_check(cudaGetLastError());
}

std::size_t conflict_free_shared_bytes(const RatioPlan& plan) {
  const bool wide = plan.shape.unit() > 1;
  const std::size_t slots =
      std::size_t(most_runs(plan.launch.workload_bound, plan.shape.bins)) * run_slots;
  return slots * (wide ? 6 : 2) + std::size_t(plan.shape.bins) * (wide ? 12 : 8);
}

void ratio_conflict_free(backend::Cuda cuda, const RatioPlan& plan, const RatioInput& input,
                         std::uint64_t* sums) {
  with_ratio_voxel(plan.shape, input, [&](const auto& voxel) {
    using Voxel = std::remove_cvref_t<decltype(voxel)>;
    if constexpr (Voxel::taps == 1) {
      const ratio::Job<Voxel> job(voxel, input, sums);
      const Tiles tiles{plan.presort.slot.data(),
                        plan.presort.runs.data(),
                        plan.presort.runs_of_tile.data(),
                        unsigned(plan.presort.runs_of_tile.size()),
                        pieces_of_tile(plan),
                        most_runs(plan.launch.workload_bound, plan.shape.bins)};
      const int bytes = int(conflict_free_shared_bytes(plan));
      allow_shared_memory(conflict_free_kernel<Voxel>);
      conflict_free_kernel<<<dim3(plan.launch.blocks, input.candidates), plan.launch.threads, bytes,
                             ratio::stream_of(cuda)>>>(job, tiles);
      cuda_check(cudaGetLastError());
    }
  });
}

}  // namespace freeflow
