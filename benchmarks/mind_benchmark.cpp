// The self-similarity context on the size of the OASIS brains, 160x192x224: what a level prepares
// and what an iteration evaluates.
#include <freeflow/similarity/mind.h>

#include "support.h"
#include "support/phantoms.h"

namespace freeflow::bench {
namespace {

const Geometry grid = test::plain_geometry({160, 192, 224});
constexpr const char* measured_on = "a texture and a head, 160x192x224";

/// Two images and a field, on one device.
struct Scene {
  Volume<float> fixed, moving;
  DisplacementField u;

  explicit Scene(Context& ctx)
      : fixed(test::sample_world(ctx, grid,
                                 [](const Eigen::Vector3d& p) { return 3 + test::texture(p); })),
        moving(test::sample_world(ctx, grid,
                                  [](const Eigen::Vector3d& p) { return test::head(p, 90); })),
        u(ctx, grid, test::field_planes(grid.extent, [](int x, int y, int z) {
            return test::wave(x, y, z, 2);
          })) {}
};

/// Prepares, evaluates once and calls use(cost, force, work).
template <class Use>
void evaluate(Context& ctx, bool with_force, const Use& use) {
  const Scene s(ctx);
  DisplacementField force(ctx, grid);
  force.fill_zero(ctx);
  Mind mind;
  mind.read_ranges(ctx, s.fixed, s.moving);
  mind.prepare(ctx, {s.fixed, s.moving, PointMap{}});
  Buffer<double> cost(ctx, 1);
  const FieldView<float> target =
      with_force ? force.view() : FieldView<float>{nullptr, grid.extent};
  const auto work = [&] { mind.evaluate(ctx, s.u.view(), target, cost.data()); };
  work();
  use(cost.to_host(ctx)[0], force.to_host(ctx), work);
}

template <bool with_force>
void value(benchmark::State& state, Device device) {
  Context ctx(device), cpu;
  state.SetLabel(measured_on);
  double expected_cost = 0;
  std::vector<float> expected_force;
  if (device.is_cuda())
    evaluate(cpu, with_force, [&](double cost, const std::vector<float>& force, const auto&) {
      expected_cost = cost;
      expected_force = force;
    });
  // The least traffic is that of similarity/mind_body.h.
  const double bytes = double(grid.extent.count()) * (with_force ? 88 : 52);
  evaluate(ctx, with_force, [&](double cost, const std::vector<float>& force, const auto& work) {
    const bool same = cost == expected_cost && force == expected_force;
    time(state, ctx, bytes, !device.is_cuda() || same, work);
  });
}

template <int radius>
void descriptors(benchmark::State& state, Device device) {
  Context ctx(device), cpu;
  state.SetLabel(measured_on);
  const auto described = [](Context& on, const auto& use) {
    const Scene s(on);
    const IntensityRange range = robust_range(on, s.moving, "it");
    const auto work = [&] { return mind_descriptors(on, s.moving, range, {radius, 2}); };
    std::vector<std::uint32_t> words;
    for (const MindRecord& r : work().to_host(on))
      words.insert(words.end(), {r.channels[0], r.channels[1], r.channels[2], r.present});
    use(words, work);
  };
  std::vector<std::uint32_t> expected;
  if (device.is_cuda()) described(cpu, [&](const auto& words, const auto&) { expected = words; });
  described(ctx, [&](const auto& words, const auto& work) {
    time(state, ctx, double(grid.extent.count()) * 296, !device.is_cuda() || words == expected,
         [&] { work(); });
  });
}

[[maybe_unused]] const bool registered = [] {
  on_every_device("mind_value_and_force/160x192x224", value<true>);
  on_every_device("mind_value/160x192x224", value<false>);
  on_every_device("mind_descriptors/160x192x224/radius:1", descriptors<1>);
  on_every_device("mind_descriptors/160x192x224/radius:3", descriptors<3>);
  return true;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
