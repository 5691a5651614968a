// The fluid's parts as Lee 2012 measures them (figures 1 and 2, table 1): the unbiased force by
// kernel, size and block shape with what each kernel takes of the GPU; the velocity of a viscous
// fluid; and whole runs of 300 iterations.
#include <freeflow/registration/flow/fluid.h>

#include "support.h"
#include "support/phantoms.h"

namespace freeflow::bench {
namespace {

std::string cube(int n) {
  return std::to_string(n) + "x" + std::to_string(n) + "x" + std::to_string(n);
}

template <class Run>
void add_row(const std::string& name, const Device& device, const Run& run) {
  benchmark::RegisterBenchmark((name + "/" + (device.is_cuda() ? "cuda" : "cpu")).c_str(), run,
                               device)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

DisplacementField waves(Context& ctx, int n) {
  const Geometry grid = test::plain_geometry({n, n, n});
  return DisplacementField(ctx, grid, test::field_planes(grid.extent, [](int x, int y, int z) {
                             return test::wave(x, y, z, 1.5);
                           }));
}

/// The force in hand against the CPU's: the bits are the same.
void kl_force_row(benchmark::State& state, const Device& device, int n, KlKernel kernel,
                  BlockShape shape) {
  Context ctx(device), cpu;
  state.SetLabel("a field of smooth waves of 1.5 voxels, " + cube(n));
  const DisplacementField u = waves(ctx, n);
  DisplacementField force(ctx, u.geometry());
  const SymmetricKl kl(ctx, u.extent(), kernel, shape);
  const auto work = [&] { kl.force(ctx, u.view(), 1, force.view()); };
  work();
  bool matches = true;
  if (device.is_cuda()) {
    const DisplacementField host = waves(cpu, n);
    DisplacementField expected(cpu, host.geometry());
    SymmetricKl(cpu, host.extent()).force(cpu, host.view(), 1, expected.view());
    matches = expected.to_host(cpu) == force.to_host(ctx);
  }
  time(state, ctx, 24.0 * double(u.extent().count()), matches, work);
  const KlKernelResources r = kl_kernel_resources(ctx, kernel, shape);
  if (!device.is_cuda()) return;
  state.counters["registers"] = r.registers;
  state.counters["shared_bytes"] = double(r.shared_bytes);
  state.counters["local_bytes"] = double(r.local_bytes);
  state.counters["blocks_per_sm"] = r.blocks_per_multiprocessor;
  state.counters["occupancy"] = r.occupancy;
}

void add_kl_rows(const Device& device) {
  const auto add = [&](int n, KlKernel kernel, BlockShape shape) {
    const std::string name = "kl_force/" + cube(n) +
                             (kernel == KlKernel::reuse ? "/reuse/" : "/recompute/") +
                             std::to_string(shape.x) + "x" + std::to_string(shape.y);
    add_row(name, device, [=](benchmark::State& state, const Device& d) {
      kl_force_row(state, d, n, kernel, shape);
    });
  };
  if (!device.is_cuda()) return add(128, KlKernel::reuse, {});
  for (const KlKernel kernel : {KlKernel::reuse, KlKernel::recompute}) {
    for (const int n : {64, 96, 128, 160, 192, 256}) add(n, kernel, {});
    for (const BlockShape& shape : kl_block_shapes()) add(240, kernel, shape);
  }
}

void navier_row(benchmark::State& state, const Device& device, int n) {
  Context ctx(device);
  state.SetLabel("a field of smooth waves of 1.5 voxels, " + cube(n));
  DisplacementField in = waves(ctx, n), out(ctx, in.geometry());
  const NavierVelocity navier(ctx, in.geometry(), {});
  const auto work = [&] { navier.apply(ctx, std::as_const(in).view(), out.view()); };
  work();
  time(state, ctx, 24.0 * double(in.extent().count()), true, work);
}

/// SSD and the unbiased term, one level, 300 iterations: the seconds that the level takes.
void registration_row(benchmark::State& state, const Device& device, int n, VelocityKind velocity) {
  Context ctx(device);
  state.SetLabel("two synthetic heads of " + cube(n) + ", one level of 300 iterations");
  const Geometry grid = test::plain_geometry({n, n, n});
  const double scale = 60.0 / n;  // the same picture at every size
  const auto image = [&](double bend) {
    return Volume<float>(
        ctx, grid, test::voxelwise(grid.extent, [&](int x, int y, int z) {
          const Eigen::Vector3d p =
              scale * (Eigen::Vector3d(x, y, z) - Eigen::Vector3d::Constant(0.5 * n));
          return 100 * test::head(p + bend * Eigen::Vector3d(std::sin(0.1 * p.y()),
                                                             std::cos(0.09 * p.z()), 0),
                                  26);
        }));
  };
  const Volume<float> fixed = image(2), moving = image(0);
  FluidOptions options;
  options.similarity.kind = SimilarityKind::ssd;
  options.kl = 0.01;
  options.velocity = velocity;
  options.levels = 1;
  options.iterations = {300};
  options.tolerance = 0;
  options.step = 0.1;
  for (auto _ : state) {
    const RegistrationResult r = register_fluid(ctx, fixed, moving, options);
    const LevelRecord& level = r.levels.front();
    state.SetIterationTime(level.seconds);
    state.counters["iterations"] = double(level.iterations.size()) - 1;
    state.counters["regriddings"] = level.regriddings;
    state.counters["cost_share_left"] =
        level.iterations.back().cost / level.iterations.front().cost;
  }
}

[[maybe_unused]] const bool registered = [] {
  for (const Device& device : available_devices()) {
    add_kl_rows(device);
    const int n = device.is_cuda() ? 240 : 96;
    add_row("navier/" + cube(n), device,
            [=](benchmark::State& state, const Device& d) { navier_row(state, d, n); });
    for (const int size : device.is_cuda() ? std::vector<int>{128, 240} : std::vector<int>{64})
      for (const auto& [word, velocity] : {std::pair{"gaussian", VelocityKind::gaussian},
                                           std::pair{"navier", VelocityKind::navier}})
        add_row("fluid_ssd_kl_300/" + cube(size) + "/" + word, device,
                [=, velocity = velocity](benchmark::State& state, const Device& d) {
                  registration_row(state, d, size, velocity);
                });
  }
  return true;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
