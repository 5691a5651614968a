// The correlation ratio of 256 x 256 x 160 voxels, the affine warp fused in: Li 2015, figures 6 to
// 14 and 17 and tables 5 and 7 to 9 on today's hardware. Rows:
//   value/SCHEME/CONTENT/...            sums and eta, as a search pays for them, with the default
//                                       launch
//   sums/SCHEME/CONTENT/bins:B          against the number of bins (figures 12 to 14)
//   sums/SCHEME/CONTENT/blocks:N        against the number of blocks, 256 threads each (figures 6
//                                       to 8)
//   sums/SCHEME/CONTENT/threads:T       against the threads of 1024 blocks (figures 9 to 11)
//   sums/conflict_free/CONTENT/bound:W  against the workload bound (figure 17)
//   presort/CONTENT                     what conflict_free pays once per level (tables 7 to 9)
// Table 5, the speed-up over the CPU, is the value rows of the two devices.
#include <freeflow/similarity/correlation_ratio.h>

#include "support.h"
#include "support/phantoms.h"

namespace freeflow::bench {
namespace {

constexpr Extent extent{256, 256, 160};

enum class Content { random, head };

/// Fixed bins, moving intensities and the map that is scored, on a device.
struct Images {
  Buffer<std::uint16_t> fixed;
  Buffer<float> moving;
  RatioInput input;

  Images(Context& ctx, Content content, int bins, int candidates) {
    const std::size_t n = extent.count();
    std::vector<float> f, m;
    if (content == Content::random) {
      f = test::random_values(n, 1, 0, 1);
      m = test::random_values(n, 2, 0, 1);
    } else {
      const auto intensity = [](double x, double y, double z) {
        return std::min(test::head({x - 128, y - 128, z - 80}, 75) / 4.7, 1.0);
      };
      f = test::voxelwise(extent, [&](int x, int y, int z) { return intensity(x, y, z); });
      m = test::voxelwise(extent, [&](int x, int y, int z) {
        return 1 - std::pow(1 - intensity(x + 2, y - 1, z + 1), 2);
      });
    }
    std::vector<std::uint16_t> bin(n);
    for (std::size_t i = 0; i < n; ++i) {
      bin[i] = std::uint16_t(std::min(int(std::max(f[i], 0.0f) * float(bins)), bins - 1));
      m[i] = std::clamp(m[i], 0.0f, 1.0f) * RatioInput::most;
    }
    fixed = Buffer<std::uint16_t>(ctx, bin);
    moving = Buffer<float>(ctx, m);
    const Eigen::Vector3d middle(128, 128, 80);
    const Eigen::Affine3d turn = Eigen::Translation3d(middle) *
                                 Eigen::AngleAxisd(0.1, Eigen::Vector3d(1, 2, 3).normalized()) *
                                 Eigen::Translation3d(-middle + Eigen::Vector3d(1.3, -2.1, 0.7));
    input = {extent,  fixed.data(), {moving.data(), extent}, to_point_map(turn), {},
             nullptr, candidates};
  }
};

struct Case {
  RatioScheme scheme;
  Content content;
  int bins = 256;
  RatioLaunch launch = {};
  float border = 0;
  int candidates = 1;
  bool with_value = false;  // the statistics too
};

std::vector<std::uint64_t> expected_sums(const Case& c) {
  Context cpu;
  const Images images(cpu, c.content, c.bins, 1);
  const RatioShape shape{
      c.bins, RatioDirection::moving_given_fixed, false, {c.border, c.border, c.border}};
  Buffer<std::uint64_t> sums(cpu, shape.words());
  ratio_sums(cpu, RatioPlan(cpu, RatioScheme::automatic, shape, images.input), images.input,
             sums.data());
  return sums.to_host(cpu);
}

/// The images and the right result of the last case: rows come in an order that lets most of them
/// share it.
struct Shared {
  Device device;
  Content content;
  int bins;
  float border;
  std::unique_ptr<Context> ctx;
  std::unique_ptr<Images> images;
  std::vector<std::uint64_t> expected;
};

Shared& shared_for(Device device, const Case& c) {
  static Shared s;
  if (s.ctx && s.device == device && s.content == c.content && s.bins == c.bins &&
      s.border == c.border)
    return s;
  s.images.reset();
  s.ctx = std::make_unique<Context>(device);
  s.images = std::make_unique<Images>(*s.ctx, c.content, c.bins, 1);
  s.expected = expected_sums(c);
  s.device = device, s.content = c.content, s.bins = c.bins, s.border = c.border;
  return s;
}

void say_what(benchmark::State& state, const Case& c) {
  state.SetLabel(c.content == Content::head ? "a head, 256x256x160" : "noise, 256x256x160");
}

void sums(benchmark::State& state, Device device, const Case& c) {
  say_what(state, c);
  Shared& s = shared_for(device, c);
  Context& ctx = *s.ctx;
  RatioInput input = s.images->input;
  const Buffer<PointMap> maps(ctx, std::vector<PointMap>(c.candidates, input.map));
  input.candidates = c.candidates;
  if (c.candidates > 1) input.maps = maps.data();
  const RatioShape shape{
      c.bins, RatioDirection::moving_given_fixed, false, {c.border, c.border, c.border}};
  try {
    const RatioPlan plan(ctx, c.scheme, shape, input, c.launch);
    Buffer<std::uint64_t> result(ctx, shape.words() * c.candidates);
    Buffer<RatioStatistics> statistics(ctx, c.candidates);
    const auto work = [&] {
      ratio_sums(ctx, plan, input, result.data());
      if (c.with_value)
        ratio_statistics(ctx, shape, result.data(), c.candidates, statistics.data());
    };
    work();
    std::vector<std::uint64_t> first = result.to_host(ctx);
    first.resize(shape.words());
    // Least traffic: the fixed bins and the moving image read.
    time(state, ctx, 6.0 * double(extent.count()) * c.candidates, first == s.expected, work);
    state.counters["blocks"] = plan.launch.blocks;
  } catch (const std::runtime_error& error) {
    state.SkipWithError(error.what());
  }
}

void presort(benchmark::State& state, Device device, const Case& c) {
  say_what(state, c);
  Shared& s = shared_for(device, c);
  time(state, *s.ctx, 14.0 * double(extent.count()), true,
       [&] { RatioPlan(*s.ctx, RatioScheme::conflict_free, {c.bins}, s.images->input); });
}

void add_row(const std::string& name, Device device, const Case& c,
             void (*run)(benchmark::State&, Device, const Case&) = sums) {
  benchmark::RegisterBenchmark((name + (device.is_cuda() ? "/cuda" : "/cpu")).c_str(), run, device,
                               c)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

void add_cuda_rows(Device device, Content content, const std::string& what) {
  std::vector<RatioSchemeInfo> schemes(ratio_schemes().begin() + 1, ratio_schemes().end());
  for (const RatioSchemeInfo& info : schemes) {
    const std::string name = std::string(info.name) + what;
    add_row("value/" + name, device, {info.scheme, content, 256, {}, 0, 1, true});
    for (int blocks : {64, 128, 264, 528, 1056, 2048})
      add_row("sums/" + name + "/blocks:" + std::to_string(blocks), device,
              {info.scheme, content, 256, {.blocks = blocks, .threads = 256}});
    for (int threads : {32, 64, 128, 256, 512, 1024})
      add_row("sums/" + name + "/threads:" + std::to_string(threads), device,
              {info.scheme, content, 256, {.blocks = 1024, .threads = threads}});
  }
  for (int bound : {256, 512, 1024, 2048, 4096, 8192, 16384})
    add_row("sums/conflict_free" + what + "/bound:" + std::to_string(bound), device,
            {RatioScheme::conflict_free, content, 256, {.workload_bound = bound}});
  for (const RatioScheme scheme : {RatioScheme::shared_atomic, RatioScheme::conflict_free})
    add_row(std::string(ratio_schemes()[int(scheme)].name) + what + "/candidates:64", device,
            {scheme, content, 256, {}, 0, 64});
  add_row("presort" + what, device, {RatioScheme::conflict_free, content}, presort);
  for (int bins : {8, 16, 32, 64, 128})
    for (const RatioSchemeInfo& info : schemes)
      add_row("sums/" + std::string(info.name) + what + "/bins:" + std::to_string(bins), device,
              {info.scheme, content, bins});
  for (const RatioSchemeInfo& info : schemes)
    add_row("value/" + std::string(info.name) + what + "/border:20", device,
            {info.scheme, content, 256, {}, 20, 1, true});
}

[[maybe_unused]] const bool registered = [] {
  for (const Device& device : available_devices())
    for (const Content content : {Content::head, Content::random}) {
      const std::string what = content == Content::head ? "/head" : "/random";
      if (device.is_cuda())
        add_cuda_rows(device, content, what);
      else
        add_row("value/cpu" + what, device, {RatioScheme::automatic, content, 256, {}, 0, 1, true});
    }
  return true;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
