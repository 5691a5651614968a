// Whole measures, value and force, against what a straightforward CPU program takes.
#include <freeflow/similarity/mutual_information.h>
#include <freeflow/similarity/ssd.h>

#include "straightforward_nmi.h"
#include "support.h"
#include "support/phantoms.h"

namespace freeflow::bench {
namespace {

const Geometry grid = test::plain_geometry({256, 256, 256});
constexpr const char* measured_on = "two textures, a dense field, 256^3";

/// Two textures and a field, on one device.
struct Scene {
  Volume<float> fixed, moving;
  DisplacementField u;

  explicit Scene(Context& ctx) {
    static const std::vector<float> texture = [] {
      Context cpu;
      return test::sample_world(cpu, grid,
                                [](const Eigen::Vector3d& p) { return 3 + test::texture(p); })
          .to_host(cpu);
    }();
    static const std::vector<float> planes =
        test::field_planes(grid.extent, [](int x, int y, int z) { return test::wave(x, y, z, 2); });
    fixed = Volume<float>(ctx, grid, texture);
    moving = Volume<float>(ctx, grid, texture);
    u = DisplacementField(ctx, grid, planes);
  }
};

template <class Make>
void evaluate(benchmark::State& state, Device device, const Make& make, bool with_force) {
  const auto run = [&](Context& ctx,
                       const std::function<void(double, const std::function<void()>&)>& use) {
    const Scene s(ctx);
    DisplacementField force(ctx, grid);
    auto measure = make();
    measure.read_ranges(ctx, s.fixed, s.moving);
    measure.prepare(ctx, {s.fixed, s.moving, PointMap{}});
    Buffer<double> cost(ctx, 1);
    const FieldView<float> target =
        with_force ? force.view() : FieldView<float>{nullptr, grid.extent};
    const auto work = [&] { measure.evaluate(ctx, s.u.view(), target, cost.data()); };
    work();
    use(cost.to_host(ctx)[0], work);
  };
  Context ctx(device), cpu;
  state.SetLabel(measured_on);
  double expected = 0;
  if (device.is_cuda()) run(cpu, [&](double value, const auto&) { expected = value; });
  // Least traffic: displacement and both images read, the force written.
  run(ctx, [&](double value, const auto& work) {
    time(state, ctx, double(grid.extent.count()) * (12 + 4 + 2 + (with_force ? 12 : 0)),
         !device.is_cuda() || value == expected, work);
  });
}

void straightforward(benchmark::State& state) {
  state.SetLabel(measured_on);
  Context cpu;
  const Scene s(cpu);
  std::vector<float> force(3 * grid.extent.count());
  const IntensityRange range = robust_range(cpu, s.fixed, "it");
  double cost = 0;
  const auto work = [&] {
    cost = straightforward_nmi(s.fixed.view().data, s.moving.view().data, s.u.view().data,
                               grid.extent.x, grid.extent.y, grid.extent.z, range.low, range.high,
                               force.data());
  };
  work();
  time(state, cpu, double(grid.extent.count()) * 30, cost < -1.05, work);
  state.counters["cost"] = cost;
}

template <class Make>
void add(const std::string& name, const Make& make) {
  for (const Device& device : available_devices())
    for (bool force : {false, true})
      benchmark::RegisterBenchmark(
          (name + (force ? "/value_and_force" : "/value") + "/256^3" +
           (device.is_cuda() ? "/cuda" : "/cpu"))
              .c_str(),
          [=](benchmark::State& state) { evaluate(state, device, make, force); })
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
}

[[maybe_unused]] const bool registered = [] {
  for (const auto& [estimator, name] : {std::pair{Estimator::hard, "nmi_hard"},
                                        {Estimator::parzen, "nmi_parzen"},
                                        {Estimator::parzen_both, "nmi_parzen_both"},
                                        {Estimator::partial_volume, "nmi_partial_volume"}}) {
    const Estimator e = estimator;
    add(std::string(name) + "/bins:64", [e] {
      return MutualInformation({Information::nmi, 64, 64, e});
    });
  }
  add("nmi_parzen/bins:256", [] {
    return MutualInformation({Information::nmi, 256, 256, Estimator::parzen});
  });
  add("ssd", [] { return Ssd(); });
  benchmark::RegisterBenchmark("straightforward_nmi/bins:64/value_and_force/256^3/cpu",
                               straightforward)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
  return true;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
