// Registrations by the self-similarity context of what it is for: contrasts that run the other way
// under an uneven shading.
#include "support/devices.h"
#include "support/registrations.h"

namespace freeflow {
namespace {

using namespace test;

/// Inverted contrast, and a shading of about +-40 % across the head.
Phantom shaded_phantom() {
  Phantom p = usual_phantom(true);
  const Eigen::Affine3d world = p.moving.index_to_world();
  std::size_t i = 0;
  const Extent n = p.moving.extent;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x, ++i) {
        const Eigen::Vector3d q = world * Eigen::Vector3d(x, y, z);
        p.m[i] *= float(std::exp(0.35 * std::sin(0.06 * q.x() - 0.04 * q.y() + 0.03 * q.z())));
      }
  return p;
}

class MindRegistration : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(MindRegistration);

TEST_P(MindRegistration, FfdRecoversAKnownWarpOfAShadedInvertedContrast) {
  const Phantom p = shaded_phantom();
  FfdOptions o;
  o.similarity.kind = SimilarityKind::mind;
  o.levels = 2;
  o.spacing = {5, false};
  o.bending = 0.2;  // the descriptors of a smooth texture say little voxel by voxel
  EXPECT_GT(p.error_before(), 3.4);
  EXPECT_LT(p.error(ctx, run(ctx, p, o).displacement), 0.8);
}

TEST_P(MindRegistration, FlowRecoversAKnownWarpOfAShadedInvertedContrast) {
  const Phantom p = shaded_phantom();
  FlowOptions o;
  o.similarity.kind = SimilarityKind::mind;
  o.levels = 2;
  o.sigma_field = {Sigma{1.5}};  // likewise
  const RegistrationResult r = run(ctx, p, o);
  EXPECT_LT(p.error(ctx, r.displacement), 1.0);
  EXPECT_EQ(r.jacobian.folded_voxels, 0u);
}

TEST_P(MindRegistration, GivesTheSameBitsForAnyThreads) {
  const Phantom p = shaded_phantom();
  FlowOptions o;
  o.similarity.kind = SimilarityKind::mind;
  o.levels = 2;
  o.iterations = {10, 3};
  Context three({}, 3);
  EXPECT_EQ(run(ctx, p, o).displacement.to_host(ctx), run(three, p, o).displacement.to_host(three));
}

}  // namespace
}  // namespace freeflow
