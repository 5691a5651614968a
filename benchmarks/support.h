// What the benchmarks share: a row per device, time until the device is done, and the share of the
// memory bound. The bound is a device copy measured in the same run, so a share is comparable
// between machines; an absolute time is not.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include <freeflow/core/buffer.h>

namespace freeflow::bench {

/// Bytes read and written per second by a large copy on the device.
inline double copy_bandwidth(Context& ctx) {
  constexpr std::size_t bytes = std::size_t(256) << 20;
  const Buffer<char> source(ctx, bytes), target(ctx, bytes);
  Buffer<char>(source.clone(ctx));  // touches the pages
  double best = 0;
  for (int k = 0; k < 6; ++k) {
    ctx.synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int r = 0; r < 4; ++r) ctx.copy_on_device(target.data(), source.data(), bytes);
    ctx.synchronize();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 4 * 2.0 * double(bytes) / seconds);
  }
  return best;
}

inline double bandwidth_of(Context& ctx) {
  if (ctx.device().is_cuda()) {
    // not before a CUDA row asks: rows of the CPU may come first
    static const double cuda = copy_bandwidth(ctx);
    return cuda;
  }
  static const double cpu = copy_bandwidth(ctx);
  return cpu;
}

/// Times `work`, up to twenty calls between two waits, and reports its least traffic against the
/// copy. `matches` must hold first: a wrong result is not timed.
inline void time(benchmark::State& state, Context& ctx, double least_bytes, bool matches,
                 const std::function<void()>& work) {
  if (!matches) {
    state.SkipWithError("the result differs from the CPU's");
    return;
  }
  const double bandwidth = bandwidth_of(ctx);
  const auto once = [&](int calls) {
    ctx.synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < calls; ++k) work();
    ctx.synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
  };
  // Several calls between two waits, so that the wait does not count; one of a slow scheme hides it
  // alone.
  const int calls = ctx.device().is_cuda() ? std::clamp(int(0.02 / once(1)), 1, 20) : 1;
  double seconds = 0;
  for (auto _ : state) {
    const double lap = once(calls);
    state.SetIterationTime(lap);
    seconds += lap;
  }
  state.counters["bound_us"] = 1e6 * least_bytes / bandwidth;
  state.counters["share_of_bound"] =
      least_bytes / bandwidth / (seconds / double(state.iterations()));
}

/// Registers one row per device present.
inline void on_every_device(const std::string& name, void (*run)(benchmark::State&, Device)) {
  for (const Device& device : available_devices())
    benchmark::RegisterBenchmark((name + "/" + (device.is_cuda() ? "cuda" : "cpu")).c_str(), run,
                                 device)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace freeflow::bench
