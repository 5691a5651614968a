// Gaussian smoothing of a vector field of 256^3 voxels, every way, against sigma. Bound: three
// passes that read and write everything.
#include <freeflow/regularize/smoother.h>

#include "support.h"
#include "support/phantoms.h"

namespace freeflow::bench {
namespace {

const Geometry grid = test::plain_geometry({256, 256, 256});

struct Way {
  const char* name;
  Smoother smoother;
};

void gaussian(benchmark::State& state, Device device, Smoother smoother, double sigma) {
  Context ctx(device), cpu;
  state.SetLabel("three planes of noise, 256^3");
  const std::size_t values = 3 * grid.extent.count();
  const std::vector<float> noise = test::random_values(values, 1, -1, 1);
  const auto smoothed = [&](Context& c) {
    DisplacementField field(c, grid, noise);
    smooth(c, field, Eigen::Vector3d::Constant(sigma), smoother);
    return field.to_host(c);
  };
  const bool same = !device.is_cuda() || smoother == Smoother::fft ||
                    smoothed(ctx) == smoothed(cpu);  // transforms round differently
  const GaussianFilter filter(ctx, grid.extent, Eigen::Vector3d::Constant(sigma), smoother);
  DisplacementField in(ctx, grid, noise), out(ctx, grid);
  time(state, ctx, 3.0 * 8 * double(values), same,
       [&] { filter.apply(ctx, in.view(), out.view()); });
}

[[maybe_unused]] const bool registered = [] {
  for (const Way way : {Way{"auto", Smoother::automatic}, Way{"separable", Smoother::separable},
                        Way{"recursive", Smoother::recursive}, Way{"fft", Smoother::fft}})
    for (const double sigma : {1.0, 2.0, 4.0, 8.0, 16.0})
      for (const Device& device : available_devices()) {
        const std::string name =
            std::string("gaussian/256^3x3/") + way.name + "/sigma:" + std::to_string(int(sigma));
        benchmark::RegisterBenchmark((name + (device.is_cuda() ? "/cuda" : "/cpu")).c_str(),
                                     gaussian, device, way.smoother, sigma)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
  return true;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
