// Joint histograms and whole measures. Rows are named scheme/estimator/content/size/device.
#include <freeflow/similarity/nmi.h>
#include <freeflow/similarity/ssd.h>

#include "support.h"
#include "support/phantoms.h"

namespace freeflow::bench {
namespace {

struct Case {
  HistogramScheme scheme;
  HistogramShape shape;
  Extent extent;
  bool constant;
};

void histogram(benchmark::State& state, Device device, const Case& c) {
  const std::size_t n = c.extent.count();
  std::vector<std::uint16_t> fixed(n, 3);
  std::vector<float> moving(n, 2.25f);
  if (!c.constant) {
    const std::vector<float> f = test::random_values(n, 1, 0, float(c.shape.fixed_bins) - 0.01f);
    std::copy(f.begin(), f.end(), fixed.begin());
    moving = test::random_values(n, 2, 1, float(c.shape.moving_bins - 2));
  }
  const auto count = [&](Context& ctx, const Buffer<std::uint16_t>& f, const Buffer<float>& m, Buffer<std::uint64_t>& h) {
    joint_histogram(ctx, c.scheme, c.shape, {f.data(), m.data(), n}, h.data());
  };
  Context ctx(device), cpu;
  Buffer<std::uint64_t> h(ctx, c.shape.bins()), expected(cpu, c.shape.bins());
  const Buffer<std::uint16_t> f(ctx, fixed);
  const Buffer<float> m(ctx, moving);
  count(ctx, f, m, h);
  count(cpu, Buffer<std::uint16_t>(cpu, fixed), Buffer<float>(cpu, moving), expected);
  time(state, ctx, 6.0 * double(n), h.to_host(ctx) == expected.to_host(cpu), [&] { count(ctx, f, m, h); });
}

template <class Measure>
void value_and_force(benchmark::State& state, Device device) {
  const Geometry grid = test::plain_geometry({256, 256, 256});
  const auto evaluate = [&](Context& ctx, const std::function<void(double, const std::function<void()>&)>& use) {
    const auto texture = [](const Eigen::Vector3d& p) { return 3 + test::texture(p); };
    const Volume<float> fixed = test::sample_world(ctx, grid, texture), moving = fixed.clone(ctx);
    const DisplacementField u(ctx, grid, test::field_planes(grid.extent, [](int x, int y, int z) { return test::wave(x, y, z, 2); }));
    DisplacementField force(ctx, grid);
    Measure measure;
    measure.set_range(ctx, fixed, moving);
    measure.prepare(ctx, {fixed, moving, PointMap{}});
    Buffer<double> cost(ctx, 1);
    const auto work = [&] { measure.evaluate(ctx, u.view(), force.view(), cost.data()); };
    work();
    use(cost.to_host(ctx)[0], work);
  };
  Context ctx(device), cpu;
  double expected = 0;
  if (device.is_cuda()) evaluate(cpu, [&](double value, const auto&) { expected = value; });
  // Least traffic: displacement and both images read, the force written.
  evaluate(ctx, [&](double value, const auto& work) {
    time(state, ctx, double(grid.extent.count()) * (12 + 4 + 2 + 12), !device.is_cuda() || value == expected, work);
  });
}

[[maybe_unused]] const bool registered = [] {
  for (const HistogramSchemeInfo& info : histogram_schemes())
    for (int bins : {64, 128})
      for (bool constant : {false, true})
        for (Estimator estimator : {Estimator::hard, Estimator::parzen})
          for (const Device& device : available_devices()) {
            if (info.scheme == HistogramScheme::automatic) continue;
            const Case c{info.scheme, {bins, bins, estimator}, {256, 256, 256}, constant};
            const std::string name = std::string(info.name) + (estimator == Estimator::hard ? "/hard" : "/parzen") +
                                     (constant ? "/constant" : "/random") + "/256^3/bins:" + std::to_string(bins) +
                                     (device.is_cuda() ? "/cuda" : "/cpu");
            benchmark::RegisterBenchmark(name.c_str(), histogram, device, c)->UseManualTime()->Unit(benchmark::kMicrosecond);
          }
  on_every_device("nmi_value_and_force/256^3/bins:64", value_and_force<Nmi>);
  on_every_device("ssd_value_and_force/256^3", value_and_force<Ssd>);
  return true;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
