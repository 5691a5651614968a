// What the time of a registration on several GPUs depends on, measured on those of this machine:
//   gpu_links cuda:0-1 [GIBIBYTES]
// Reading and writing the own and another card's memory, a launch that is dealt out, mapping memory
// over the cards, copies from and to the host.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <freeflow/core/buffer.h>
#include <freeflow/core/context_state.h>
#include <freeflow/core/error.h>
#include <freeflow/core/shares.cuh>

using namespace freeflow;

namespace {

__global__ void read_all(const float4* from, std::size_t count, float* never) {
  float sum = 0;
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const float4 value = from[i];
    sum += value.x + value.y + value.z + value.w;
  }
  if (sum == 1.0f) *never = sum;
}

__global__ void write_all(float4* to, std::size_t count) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = {};
}

__global__ void do_nothing() {}

/// Seconds of work that is queued; the least of several.
template <class Work>
double seconds(Context& ctx, int times, const Work& work) {
  double least = 1e30;
  for (int k = 0; k < times; ++k) {
    ctx.synchronize();
    const auto begun = std::chrono::steady_clock::now();
    work();
    ctx.synchronize();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
    least = std::min(least, taken.count());
  }
  return least;
}

void memory_of_every_card(Context& ctx, std::size_t bytes) {
  Buffer<float> buffer(ctx, bytes / sizeof(float)), never(ctx, 1);
  buffer.fill_zero(ctx);
  const auto stream = static_cast<cudaStream_t>(ctx.stream());
  const int cards = ctx.device().count;
  for (int card = 0; card < cards; ++card) {
    const std::size_t part = buffer.size() / 4 / std::size_t(cards);
    auto* const begin = reinterpret_cast<float4*>(buffer.data()) + std::size_t(card) * part;
    const std::size_t count = part - part / 16;  // borders lie on whole pages
    const double gigabytes = double(count) * sizeof(float4) * 1e-9;
    const double read = seconds(
        ctx, 5, [&] { read_all<<<132 * 16, 512, 0, stream>>>(begin, count, never.data()); });
    const double written =
        seconds(ctx, 5, [&] { write_all<<<132 * 16, 512, 0, stream>>>(begin, count); });
    std::printf("the first card reads card %d: %.0f GB/s, writes %.0f GB/s\n", card,
                gigabytes / read, gigabytes / written);
  }
}

void launches(Context& ctx) {
  constexpr int rounds = 2000;
  const auto stream = static_cast<cudaStream_t>(ctx.stream());
  const double alone = seconds(ctx, 3, [&] {
    for (int k = 0; k < rounds; ++k) do_nothing<<<1, 32, 0, stream>>>();
  });
  const double dealt = seconds(ctx, 3, [&] {
    for (int k = 0; k < rounds; ++k)
      for_each_share(backend::Cuda{ctx.stream(), ctx.group()}, {64, 1 << 20},
                     [](const Share& share, int) { do_nothing<<<1, 32, 0, share.stream>>>(); });
  });
  std::printf("an empty launch: %.1f us on one card, %.1f us dealt out\n", 1e6 * alone / rounds,
              1e6 * dealt / rounds);
}

void mapping(Context& ctx, std::size_t bytes) {
  for (const int planes : {1, 3, 15}) {
    const auto begun = std::chrono::steady_clock::now();
    const Buffer<float> buffer(ctx, bytes / sizeof(float), Planes{planes});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
    std::printf("mapping %.1f GB in %d planes: %.2f ms\n", double(bytes) * 1e-9, planes,
                1e3 * taken.count());
  }
}

void host_copies(Context& ctx, std::size_t bytes) {
  Buffer<float> buffer(ctx, bytes / sizeof(float));
  std::vector<float> host(buffer.size());
  const double there =
      seconds(ctx, 2, [&] { ctx.copy_to_device(buffer.data(), host.data(), bytes); });
  const double back = seconds(ctx, 2, [&] { ctx.copy_to_host(host.data(), buffer.data(), bytes); });
  std::printf("pageable memory of the host: %.1f GB/s there, %.1f GB/s back\n",
              double(bytes) * 1e-9 / there, double(bytes) * 1e-9 / back);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string first = argc > 1 ? argv[1] : "--help";
    if (first == "--version") return std::puts("gpu_links (FreeFlow) " FREEFLOW_VERSION), 0;
    if (first == "--help")
      return std::puts(
                 "gpu_links cuda:N-M [GIBIBYTES]: what the GPUs of a machine take to read and "
                 "write "
                 "each other's memory\n\nExample: gpu_links cuda:0-1 8"),
             0;
    Context ctx(Device::parse(first));
    require(ctx.device().count > 1, "name several GPUs, for example cuda:0-1");
    const std::size_t bytes = std::size_t(argc > 2 ? std::max(1, std::atoi(argv[2])) : 4) << 30;
    mapping(ctx, bytes);
    memory_of_every_card(ctx, bytes);
    launches(ctx);
    host_copies(ctx, bytes);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "gpu_links: " << e.what() << '\n';
    return 2;
  }
}
