// Interpolation, spline and inverse on the size of the OASIS brains, 160x192x224.
#include <cmath>

#include <freeflow/deform/control_point_grid.h>
#include <freeflow/deform/field_operations.h>
#include <freeflow/deform/warp.h>

#include "support.h"
#include "support/phantoms.h"

namespace freeflow::bench {
namespace {

const Geometry grid = test::plain_geometry({160, 192, 224});
const double voxels = double(grid.extent.count());
constexpr const char* measured_on = "160x192x224, noise under smooth waves of 3 voxels";

DisplacementField waves(Context& ctx, double amplitude) {
  return DisplacementField(ctx, grid, test::field_planes(grid.extent, [&](int x, int y, int z) {
                             return test::wave(x, y, z, amplitude);
                           }));
}

/// Times an operation after its result equalled the CPU's. run(ctx, use) sets it up and calls
/// use(work, result).
template <class Run>
void time_against_cpu(benchmark::State& state, Device device, double least_bytes, const Run& run) {
  Context ctx(device), cpu;
  state.SetLabel(measured_on);
  std::vector<float> expected;
  run(cpu, [&](const auto& work, const auto& result) {
    work();
    expected = result();
  });
  run(ctx, [&](const auto& work, const auto& result) {
    work();
    time(state, ctx, least_bytes, result() == expected, work);
  });
}

void warp_gradient(benchmark::State& state, Device device) {
  const std::vector<float> image = test::random_values(grid.extent.count(), 1);
  time_against_cpu(state, device, voxels * (12 + 4 + 16), [&](Context& ctx, const auto& use) {
    const Volume<float> moving(ctx, grid, image);
    const DisplacementField u = waves(ctx, 3);
    Volume<float> warped(ctx, grid);
    DisplacementField gradient(ctx, grid);
    use(
        [&] {
          warp_with_gradient(ctx, moving.view(), PointMap{}, u.view(), warped.view(),
                             gradient.view());
        },
        [&] { return gradient.to_host(ctx); });
  });
}

/// Half of the image is missing where it has holes: slabs of 8 slices, so that warps meet all rims.
std::vector<float> image_of(bool with_holes) {
  std::vector<float> image = test::random_values(grid.extent.count(), 1);
  const std::size_t slice = std::size_t(grid.extent.x) * grid.extent.y;
  for (std::size_t i = 0; with_holes && i < image.size(); ++i)
    if (i / slice / 8 % 2) image[i] = NAN;
  return image;
}

void resample(benchmark::State& state, Device device, Interpolation interpolation,
              bool with_holes) {
  const std::vector<float> image = image_of(with_holes);
  const bool cubic = interpolation == Interpolation::cubic;
  const double prefiltered = cubic ? 8 + 3 * 8 + 4 : 0;  // a copy, to and fro along each axis, read
  time_against_cpu(
      state, device, voxels * (12 + 4 + 4 + prefiltered), [&](Context& ctx, const auto& use) {
        const Volume<float> moving(ctx, grid, image);
        const DisplacementField u = waves(ctx, 3);
        const auto warped = [&] {
          return warp(ctx, moving, grid, Eigen::Affine3d::Identity(), &u, interpolation, -1);
        };
        use([&] { warped(); }, [&] { return warped().to_host(ctx); });
      });
}

template <Interpolation interpolation, bool with_holes>
void resample(benchmark::State& state, Device device) {
  resample(state, device, interpolation, with_holes);
}

void spline(benchmark::State& state, Device device, bool adjoint) {
  time_against_cpu(state, device, voxels * 12, [&](Context& ctx, const auto& use) {
    ControlPointGrid lattice(ctx, grid, Eigen::Vector3d::Constant(5), Eigen::Vector3d::Zero());
    lattice.coefficients() =
        Buffer<float>(ctx, test::random_values(lattice.coefficients().size(), 3));
    const SplineSampler sampler(ctx, lattice, grid);
    DisplacementField u = waves(ctx, 3);
    Buffer<float> gradient(ctx, lattice.coefficients().size());
    if (adjoint)
      use(
          [&] {
            sampler.adjoint(ctx, std::as_const(u).view(), {gradient.data(), lattice.extent()});
          },
          [&] { return gradient.to_host(ctx); });
    else
      use([&] { sampler.evaluate(ctx, std::as_const(lattice).view(), u.view()); },
          [&] { return u.to_host(ctx); });
  });
}

void spline_evaluate(benchmark::State& state, Device device) { spline(state, device, false); }
void spline_adjoint(benchmark::State& state, Device device) { spline(state, device, true); }

void inverse(benchmark::State& state, Device device) {
  Context ctx(device), cpu;
  state.SetLabel(measured_on);
  const DisplacementField u = waves(ctx, 3);
  const bool same =
      invert(ctx, u).field.to_host(ctx) == invert(cpu, waves(cpu, 3)).field.to_host(cpu);
  time(state, ctx, voxels * 24, same, [&] { invert(ctx, u); });
}

[[maybe_unused]] const bool registered = [] {
  on_every_device("warp_with_gradient/160x192x224", warp_gradient);
  on_every_device("resample/linear/160x192x224", resample<Interpolation::linear, false>);
  on_every_device("resample/linear/holes/160x192x224", resample<Interpolation::linear, true>);
  on_every_device("resample/cubic/160x192x224", resample<Interpolation::cubic, false>);
  on_every_device("resample/cubic/holes/160x192x224", resample<Interpolation::cubic, true>);
  on_every_device("spline_evaluate/160x192x224/spacing:5", spline_evaluate);
  on_every_device("spline_adjoint/160x192x224/spacing:5", spline_adjoint);
  on_every_device("invert/160x192x224", inverse);
  return true;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
