// Whole linear registrations on the sizes of the papers: 256x256x160 (Li 2015), and a CT of
// 44x512x512 against an MR of 52x256x256 (Ledig 2010). Times are of register_linear alone, images
// on the device.
#include <freeflow/registration/linear/linear.h>

#include "support.h"
#include "support/phantoms.h"

namespace freeflow::bench {
namespace {

/// A head of 85 mm with structure and a nose, so that no rotation maps it to itself.
double large_head(const Eigen::Vector3d& p) {
  const Eigen::Vector3d q(p.x() / 0.8, p.y() / 1.1, p.z());
  const double nose = 2 / (1 + std::exp(0.3 * ((p - Eigen::Vector3d(14, 88, -20)).norm() - 22)));
  return test::head(q, 78) + nose;
}

Geometry centred(Extent extent, const Eigen::Vector3d& spacing) {
  Geometry g;
  g.extent = extent;
  g.spacing = spacing;
  g.origin = -g.center();
  return g;
}

struct Pair {
  Geometry fixed, moving;
  std::vector<float> f, m;
  Eigen::Affine3d truth;

  Pair(const Geometry& fixed, const Geometry& moving, bool rigid) : fixed(fixed), moving(moving) {
    truth = Eigen::Translation3d(9, -6, 5) *
            Eigen::Affine3d(Eigen::AngleAxisd(0.35, Eigen::Vector3d(1, 2, -1).normalized()));
    if (!rigid) truth.linear() *= Eigen::Vector3d(1.05, 0.96, 1.02).asDiagonal();
    Context cpu;
    f = test::sample_world(cpu, fixed, [&](const Eigen::Vector3d& p) {
          return large_head(truth * p);
        }).to_host(cpu);
    m = test::sample_world(cpu, moving, [](const Eigen::Vector3d& p) {
          return 100 * std::exp(-0.4 * large_head(p));
        }).to_host(cpu);
  }
  double error(const Eigen::Affine3d& found) const {
    double worst = 0;
    for (int corner = 0; corner < 8; ++corner) {
      const Eigen::Vector3d p(corner & 1 ? 50 : -50, corner & 2 ? 50 : -50, corner & 4 ? 50 : -50);
      worst = std::max(worst, (found * p - truth * p).norm());
    }
    return worst;
  }
};

void register_pair(benchmark::State& state, const Device& device, const Pair& pair,
                   const LinearOptions& options) {
  Context ctx(device);
  state.SetLabel("two synthetic heads, contrast inverted, the truth known");
  const Volume<float> fixed(ctx, pair.fixed, pair.f), moving(ctx, pair.moving, pair.m);
  LinearResult result = register_linear(ctx, fixed, moving, options);
  if (pair.error(result.affine) > 2) {
    state.SkipWithError("the transform found is wrong");
    return;
  }
  int evaluations = 0;
  for (const LevelRecord& level : result.levels) evaluations += level.evaluations;
  for (auto _ : state) {
    result = register_linear(ctx, fixed, moving, options);
    state.SetIterationTime(result.seconds);
  }
  state.counters["error_mm"] = pair.error(result.affine);
  state.counters["evaluations"] = evaluations;
  for (std::size_t l = 0; l < result.levels.size(); ++l)
    state.counters["level_" + std::to_string(l + 1) + "_ms"] = 1e3 * result.levels[l].seconds;
}

const Pair& li() {
  static const Pair pair(centred({256, 256, 160}, {0.9, 0.9, 1.2}),
                         centred({256, 256, 160}, {0.9, 0.9, 1.2}), false);
  return pair;
}
const Pair& ledig() {
  static const Pair pair(centred({512, 512, 44}, {0.45, 0.45, 4}),
                         centred({256, 256, 52}, {0.9, 0.9, 3.5}), true);
  return pair;
}

template <SimilarityKind kind, LinearSearch search, LinearModel model>
void run(benchmark::State& state, Device device) {
  LinearOptions o;
  o.similarity.kind = kind;
  o.search = search;
  o.model = model;
  if (search == LinearSearch::flirt) o.levels = 4;
  register_pair(state, device, model == LinearModel::rigid ? ledig() : li(), o);
}

const int registered = [] {
  on_every_device("affine_256x256x160_cr_flirt",
                  run<SimilarityKind::cr, LinearSearch::flirt, LinearModel::affine>);
  on_every_device("affine_256x256x160_cr_auto",
                  run<SimilarityKind::cr, LinearSearch::automatic, LinearModel::affine>);
  on_every_device("affine_256x256x160_nmi_auto",
                  run<SimilarityKind::nmi, LinearSearch::automatic, LinearModel::affine>);
  on_every_device("rigid_512x512x44_nmi_auto",
                  run<SimilarityKind::nmi, LinearSearch::automatic, LinearModel::rigid>);
  on_every_device("rigid_512x512x44_nmi_powell",
                  run<SimilarityKind::nmi, LinearSearch::powell, LinearModel::rigid>);
  return 0;
}();

}  // namespace
}  // namespace freeflow::bench

BENCHMARK_MAIN();
