// Joint histograms: the papers' own experiments on today's hardware, and the figures that the
// schemes are held to.
//   bytes/...       two 8-bit images of 512x512x296 (Ikeda 2014, fig. 6 and table 1): scheme,
//                   content, bins
//   shams_fig7/...  time against the number of bins, random and real images (Shams 2010, fig. 7)
//   ledig_fig3/...  an affine map fused, trilinear and tricubic, 512x512x44 (Ledig 2010, fig. 3 and
//                   table 3)
//   warped/...      256^3, warped by a dense field while counting: estimator, scheme
// Every row's counts are held against the CPU's before it is timed. Real rows need FREEFLOW_DATA or
// ../shared/data.
#include <freeflow/similarity/joint_histogram/joint_histogram.h>

#include <map>
#include <memory>

#include "images.h"
#include "support.h"

namespace freeflow::bench {
namespace {

using Counts = std::vector<std::uint64_t>;

void say_what(benchmark::State& state, const char* kind, Content content, Extent e) {
  state.SetLabel(std::string(kind) + ", " + name_of(content) + ", " + std::to_string(e.x) + "x" +
                 std::to_string(e.y) + "x" + std::to_string(e.z));
}

/// Bytes that are bins already, made once.
const BytePair& binned(const BytePair& pair, int bins) {
  static std::map<std::pair<const BytePair*, int>, BytePair> made;
  BytePair& p = made[{&pair, bins}];
  if (!p.fixed.empty()) return p;
  p = pair;
  for (auto* image : {&p.fixed, &p.moving})
    for (std::uint8_t& v : *image) v = std::uint8_t(v * bins / 256);
  return p;
}

template <class Input>
Counts counts_of(Context& ctx, HistogramScheme scheme, const HistogramShape& shape, std::size_t n,
                 const Input& input) {
  Buffer<std::uint64_t> histogram(ctx, shape.bins());
  JointHistogram(ctx, scheme, shape, n).count(ctx, input, histogram.data());
  return histogram.to_host(ctx);
}

template <class Input>
void time_count(benchmark::State& state, Context& ctx, HistogramScheme scheme,
                const HistogramShape& shape, std::size_t n, const Input& input,
                const Counts& expected, double least_bytes) {
  Buffer<std::uint64_t> histogram(ctx, shape.bins());
  JointHistogram joint(ctx, scheme, shape, n);
  const auto work = [&] { joint.count(ctx, input, histogram.data()); };
  work();
  time(state, ctx, least_bytes, histogram.to_host(ctx) == expected, work);
}

void byte_pair(benchmark::State& state, Device device, HistogramScheme scheme, Content content,
               Extent extent, int bins) {
  say_what(state, "two 8-bit images", content, extent);
  const HistogramShape shape{bins, bins, Estimator::hard};
  const BytePair& bytes = cached_pair(content, extent);
  const BytePair& pair = binned(bytes, bins);
  const std::size_t n = extent.count();
  static std::map<std::pair<const BytePair*, int>, Counts> known;
  Counts& expected = known[{&bytes, bins}];
  if (expected.empty()) {
    Context cpu;
    expected = counts_of(cpu, HistogramScheme::automatic, shape, n,
                         BinnedPair{pair.fixed.data(), pair.moving.data(), n});
  }
  Context ctx(device);
  const Buffer<std::uint8_t> fixed(ctx, pair.fixed), moving(ctx, pair.moving);
  time_count(state, ctx, scheme, shape, n, BinnedPair{fixed.data(), moving.data(), n}, expected,
             2.0 * double(n));
  state.counters["GB/s"] = benchmark::Counter(2.0 * double(n) * double(state.iterations()) / 1e9,
                                              benchmark::Counter::kIsRate);
}

/// The images of a warp on one device.
struct WarpScene {
  Volume<std::uint16_t> fixed;
  Volume<float> moving, coefficients;
  DisplacementField u;
  PointMap map;

  WarpScene(Context& ctx, const BytePair& bytes, int bins, bool dense) {
    const BytePair& pair = binned(bytes, bins);
    const Geometry grid = test::plain_geometry(bytes.extent);
    fixed = Volume<std::uint16_t>(ctx, grid, {pair.fixed.begin(), pair.fixed.end()});
    std::vector<float> values;
    for (std::uint8_t v : bytes.moving) values.push_back(1 + float(v) / 255 * float(bins - 3));
    moving = Volume<float>(ctx, grid, values);
    coefficients = moving.clone(ctx);
    bspline_prefilter(ctx, coefficients.view());
    map.m[0][1] = 0.02f, map.m[1][0] = -0.02f, map.m[0][3] = 1.3f, map.m[2][3] = -0.7f;
    if (dense)
      u = DisplacementField(ctx, grid, test::field_planes(grid.extent, [](int x, int y, int z) {
                              return test::wave(x, y, z, 2);
                            }));
  }
  WarpedPair pair(bool cubic) const {
    return {fixed.view(), moving.view(), map, u.view(),
            cubic ? coefficients.view() : VolumeView<const float>{}};
  }
};

struct WarpCase {
  HistogramScheme scheme;
  HistogramShape shape;
  Content content;
  Extent extent;
  bool dense, cubic;
};

void warped_pair(benchmark::State& state, Device device, const WarpCase& c) {
  say_what(state, c.dense ? "warped by a dense field" : "warped by an affine map", c.content,
           c.extent);
  const BytePair& bytes = cached_pair(c.content, c.extent);
  const std::size_t n = c.extent.count();
  using Key = std::tuple<const BytePair*, int, int, bool, bool>;
  static std::map<Key, Counts> known;
  Counts& expected = known[{&bytes, c.shape.fixed_bins, int(c.shape.estimator), c.dense, c.cubic}];
  if (expected.empty()) {
    Context cpu;
    expected = counts_of(cpu, HistogramScheme::automatic, c.shape, n,
                         WarpScene(cpu, bytes, c.shape.fixed_bins, c.dense).pair(c.cubic));
  }
  Context ctx(device);
  const WarpScene scene(ctx, bytes, c.shape.fixed_bins, c.dense);
  time_count(state, ctx, c.scheme, c.shape, n, scene.pair(c.cubic), expected,
             double(n) * (2 + 4 + (c.dense ? 12 : 0)));
}

void add(const std::string& name, const Device& device,
         const std::function<void(benchmark::State&)>& run) {
  benchmark::RegisterBenchmark((name + (device.is_cuda() ? "/cuda" : "/cpu")).c_str(), run)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

void add_bytes(const Device& device, const HistogramSchemeInfo& info) {
  for (Content content : contents())
    for (int bins : {64, 128, 256})
      add("bytes/" + std::string(info.name) + '/' + name_of(content) +
              "/bins:" + std::to_string(bins),
          device, [=](benchmark::State& state) {
            byte_pair(state, device, info.scheme, content, {512, 512, 296}, bins);
          });
}

void add_shams(const Device& device, const HistogramSchemeInfo& info) {
  for (Content content : {Content::random, Content::real})
    if (available(content))
      for (int bins : {10, 20, 40, 60, 80, 100, 160, 256})
        add("shams_fig7/" + std::string(info.name) + '/' + name_of(content) +
                "/bins:" + std::to_string(bins),
            device, [=](benchmark::State& state) {
              byte_pair(state, device, info.scheme, content, {256, 256, 128}, bins);
            });
}

void add_ledig(const Device& device, const HistogramSchemeInfo& info) {
  const Content content = available(Content::real) ? Content::real : Content::structured;
  for (bool cubic : {false, true})
    for (int bins : {16, 64, 100, 140, 200, 256})
      add("ledig_fig3/" + std::string(info.name) + (cubic ? "/tricubic" : "/trilinear") +
              "/bins:" + std::to_string(bins),
          device, [=](benchmark::State& state) {
            warped_pair(state, device,
                        {info.scheme,
                         {bins, bins, Estimator::hard},
                         content,
                         {512, 512, 44},
                         false,
                         cubic});
          });
}

void add_warped(const Device& device, const HistogramSchemeInfo& info) {
  const Content content = available(Content::real) ? Content::real : Content::structured;
  for (const auto& [estimator, name] : {std::pair{Estimator::hard, "hard"},
                                        {Estimator::parzen, "parzen"},
                                        {Estimator::parzen_both, "parzen_both"},
                                        {Estimator::partial_volume, "partial_volume"}}) {
    if (estimator != Estimator::hard && !info.takes_weights) continue;
    const Estimator e = estimator;
    add("warped/" + std::string(name) + '/' + std::string(info.name) + "/256^3/bins:64", device,
        [=](benchmark::State& state) {
          warped_pair(state, device,
                      {info.scheme, {64, 64, e}, content, {256, 256, 256}, true, false});
        });
  }
}

[[maybe_unused]] const bool registered = [] {
  for (const Device& device : available_devices())
    for (const HistogramSchemeInfo& info : histogram_schemes()) {
      if (info.scheme == HistogramScheme::automatic) continue;
      if (!device.is_cuda() && info.scheme != HistogramScheme::shared_atomic)
        continue;  // the CPU has one way
      add_bytes(device, info);
      add_shams(device, info);
      add_ledig(device, info);
      add_warped(device, info);
    }
  return true;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
