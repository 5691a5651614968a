// Lee et al. 2012, fig. 4 and 5: the search for the 96 most similar of N patches of 5^3 voxels by
// every strategy, over N, and whole runs with ten steps. The band is that of a folded ball with
// noise of 0.2 voxel. Per row: the time of a whole search; GB_per_s, what the strategy moves
// between global and shared or constant memory over that time (Lee's 50 GB/s); TFLOP_per_s, 2 * 125
// * N^2 over it; times_cpu, the speed-up over this machine's CPU with all its threads.
#include <freeflow/denoise/nonlocal_means.h>

#include <algorithm>
#include <cmath>
#include <map>

#include <freeflow/denoise/signed_distance.h>

#include "support.h"
#include "support/phantoms.h"

namespace freeflow::bench {
namespace {

constexpr const char* measured_on =
    "the band of a folded ball with noise of 0.2 voxel, patches of 5^3, best 96";
constexpr int side = 5, length = side * side * side, stride = 128, neighbours = 96;

/// Signed distance to a ball with folds and noise whose band of 3 voxels has a little more than
/// `elements` voxels.
Volume<float> folded_ball(Context& ctx, int elements) {
  const double radius = std::sqrt(elements / (1.15 * 6 * 4 * 3.14159265));
  const int n = int(2 * (1.15 * radius + 8));
  const Geometry g = test::plain_geometry({n, n, n});
  const std::vector<float> grain = test::random_values(g.extent.count(), 3, -0.35f, 0.35f);
  std::size_t i = 0;
  const Volume<float> rough(ctx, g, test::voxelwise(g.extent, [&](int x, int y, int z) {
                              const Eigen::Vector3d p = Eigen::Vector3d(x, y, z) - g.center();
                              return p.norm() - radius -
                                     2.5 * std::sin(0.35 * p.x() + 1) * std::sin(0.31 * p.y()) *
                                         std::cos(0.33 * p.z()) +
                                     grain[i++];
                            }));
  return signed_distance(ctx, rough, 0, Inside::below);
}

/// The first `count` patches of its band.
const std::vector<float>& patches(int count) {
  static std::map<int, std::vector<float>> made;
  std::vector<float>& values = made[count];
  if (!values.empty()) return values;
  Context cpu;
  const Volume<float> distance = folded_ball(cpu, count);
  const Extent n = distance.extent();
  const VolumeView<const float> phi = distance.view();
  const auto inside = [](int at, int size) { return std::clamp(at, 0, size - 1); };
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        if (!(std::abs(phi(x, y, z)) <= 3) || int(values.size() / stride) == count) continue;
        for (int k = 0; k < stride; ++k)
          values.push_back(k < length ? phi(inside(x + k % side - 2, n.x),
                                            inside(y + k / side % side - 2, n.y),
                                            inside(z + k / 25 - 2, n.z))
                                      : 0.0f);
      }
  return values;
}

struct Found {
  std::vector<std::int32_t> index;
  double seconds = 0;
};

/// Searches once.
Found search(Context& ctx, SearchStrategy strategy, int count) {
  const Buffer<float> values(ctx, patches(count));
  const int held = int(patches(count).size() / stride);
  const Buffer<std::int32_t> index(ctx, std::size_t(held) * neighbours);
  const Buffer<float> distance(ctx, std::size_t(held) * neighbours);
  ctx.synchronize();
  const auto start = std::chrono::steady_clock::now();
  find_similar(ctx, strategy, {values.data(), held, length, stride}, 0, held,
               {index.data(), distance.data(), neighbours});
  ctx.synchronize();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return {index.to_host(ctx), seconds.count()};
}

/// The CPU's answer and its time, once per N.
const Found& on_cpu(int count) {
  static std::map<int, Found> known;
  const auto [place, fresh] = known.try_emplace(count);
  if (!fresh) return place->second;
  Context cpu;
  place->second = search(cpu, SearchStrategy::automatic, count);
  return place->second;
}

/// What is moved between global memory and that of the multiprocessors.
double bytes_moved(SearchStrategy strategy, double n) {
  const double per_row = 4 * length + 16.0 * neighbours;  // a row's patch; its list there and back
  if (strategy == SearchStrategy::tiled)
    return n / 128 * n * 256;  // all columns in halves, for every 128 rows
  return std::ceil(n / 130) * n * per_row + 4 * length * n;  // every pass
}

void search_rows(benchmark::State& state, Device device, SearchStrategy strategy, int count) {
  Context ctx(device);
  state.SetLabel(measured_on);
  const Found& expected = on_cpu(count);
  double seconds = expected.seconds;
  if (device.is_cuda()) {
    if (search(ctx, strategy, count).index != expected.index) {
      state.SkipWithError("the neighbours differ from the CPU's");
      return;
    }
  }
  for (auto _ : state) {
    if (device.is_cuda()) seconds = search(ctx, strategy, count).seconds;
    state.SetIterationTime(seconds);
  }
  state.counters["GB_per_s"] = device.is_cuda() ? 1e-9 * bytes_moved(strategy, count) / seconds : 0;
  state.counters["TFLOP_per_s"] = 2e-12 * length * double(count) * count / seconds;
  state.counters["times_cpu"] = expected.seconds / seconds;
}

/// A whole run: band, search, ten steps, distance.
void whole_run(benchmark::State& state, Device device, int count) {
  Context ctx(device);
  state.SetLabel(measured_on);
  const Volume<float> distance = folded_ball(ctx, count);
  nonlocal_means(ctx, distance, {});
  NonlocalMeansResult r;
  for (auto _ : state) {
    ctx.synchronize();
    const auto start = std::chrono::steady_clock::now();
    r = nonlocal_means(ctx, distance, {});
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  state.counters["elements"] = r.band_elements;
  state.counters["search_ms"] = 1e3 * r.search_seconds;
  state.counters["steps_ms"] = 1e3 * r.iteration_seconds;
  state.counters["distance_ms"] = 1e3 * r.distance_seconds;
}

[[maybe_unused]] const bool registered = [] {
  for (const int count : {17500, 50000, 175000}) {
    const std::string n = "/N:" + std::to_string(count);
    for (const Device& device : available_devices()) {
      const std::string where = device.is_cuda() ? "/cuda" : "/cpu";
      for (const SearchStrategyInfo& s : search_strategies()) {
        if (s.strategy == SearchStrategy::automatic ? device.is_cuda() : !device.is_cuda())
          continue;
        benchmark::RegisterBenchmark(
            ("patch_search/" + (device.is_cuda() ? std::string(s.name) : "boxes") + n + where)
                .c_str(),
            search_rows, device, s.strategy, count)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
      if (device.is_cuda() || count < 50000)
        benchmark::RegisterBenchmark(("nonlocal_means/10_steps" + n + where).c_str(), whole_run,
                                     device, count)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
