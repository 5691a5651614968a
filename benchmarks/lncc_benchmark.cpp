// LNCC's value and force on the size of the OASIS brains, 160x192x224, over radii: the time should
// not depend on them.
#include <freeflow/similarity/lncc.h>

#include "support.h"
#include "support/phantoms.h"

namespace freeflow::bench {
namespace {

const Geometry grid = test::plain_geometry({160, 192, 224});

/// Sets up a measure, evaluates once and calls use(cost, force, work).
template <class Use>
void evaluate(Context& ctx, const LnccOptions& options, const Use& use) {
  const Volume<float> fixed =
      test::sample_world(ctx, grid, [](const Eigen::Vector3d& p) { return 3 + test::texture(p); });
  const Volume<float> moving =
      test::sample_world(ctx, grid, [](const Eigen::Vector3d& p) { return test::head(p, 90); });
  const DisplacementField u(ctx, grid, test::field_planes(grid.extent, [](int x, int y, int z) {
                              return test::wave(x, y, z, 2);
                            }));
  DisplacementField force(ctx, grid);
  Lncc lncc(options);
  lncc.read_ranges(ctx, fixed, moving);
  lncc.prepare(ctx, {fixed, moving, PointMap{}});
  Buffer<double> cost(ctx, 1);
  const auto work = [&] { lncc.evaluate(ctx, u.view(), force.view(), cost.data()); };
  work();
  use(cost.to_host(ctx)[0], force.to_host(ctx), work);
}

template <LnccWindow window, int radius>
void value_and_force(benchmark::State& state, Device device) {
  const LnccOptions options{window, radius};
  Context ctx(device), cpu;
  state.SetLabel("a texture and a head, 160x192x224");
  double expected_cost = 0;
  std::vector<float> expected_force;
  if (device.is_cuda())
    evaluate(cpu, options, [&](double cost, const std::vector<float>& force, const auto&) {
      expected_cost = cost;
      expected_force = force;
    });
  // The passes' least traffic, see similarity/lncc.cu; a Gaussian sums six moments and three
  // coefficients along all axes twice more.
  const double bytes =
      double(grid.extent.count()) * (window == LnccWindow::box ? 164 : 164 + 2 * (6 + 3) * 16);
  evaluate(ctx, options, [&](double cost, const std::vector<float>& force, const auto& work) {
    time(state, ctx, bytes, !device.is_cuda() || (cost == expected_cost && force == expected_force),
         work);
  });
}

[[maybe_unused]] const bool registered = [] {
  on_every_device("lncc_value_and_force/160x192x224/box/radius:2",
                  value_and_force<LnccWindow::box, 2>);
  on_every_device("lncc_value_and_force/160x192x224/box/radius:5",
                  value_and_force<LnccWindow::box, 5>);
  on_every_device("lncc_value_and_force/160x192x224/box/radius:7",
                  value_and_force<LnccWindow::box, 7>);
  on_every_device("lncc_value_and_force/160x192x224/gaussian/radius:2",
                  value_and_force<LnccWindow::gaussian, 2>);
  return true;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
