// What the unbiased term is for: noise alone must not look like growth.
#include <freeflow/registration/flow/flow.h>

#include <cmath>
#include <random>

#include <freeflow/deform/jacobian_bias.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

class Unbiased : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Unbiased);

TEST_P(Unbiased, NoiseAloneIsUnbiasedWithTheTermAndSwapsItsSign) {
  const Geometry g = plain_geometry({72, 72, 40});
  const std::vector<float> clean = voxelwise(g.extent, [](int x, int y, int z) {
    return 100 * (2.5 + texture(Eigen::Vector3d(x, y, z)));
  });
  std::vector<float> noisy = clean;
  std::mt19937 generator(1);
  std::normal_distribution<float> noise(0, 12);
  for (float& v : noisy) v += noise(generator);
  const Volume<float> a(ctx, g, clean), b(ctx, g, noisy);
  FlowOptions o;
  o.similarity.kind = SimilarityKind::ssd;
  o.symmetric = true;
  o.levels = 1;
  o.iterations = {15};
  o.step = 0.2;
  o.sigma_field = {{0}};
  const JacobianBias free = jacobian_bias(ctx, register_flow(ctx, a, b, o).displacement);
  EXPECT_GT(std::abs(free.mean), 3 * free.mean_error);
  o.kl = 0.1;
  const DisplacementField ab = register_flow(ctx, a, b, o).displacement,
                          ba = register_flow(ctx, b, a, o).displacement;
  for (const DisplacementField* u : {&ab, &ba}) {
    const JacobianBias held = jacobian_bias(ctx, *u);
    EXPECT_GT(held.sd, 0.001) << "something moves";
    EXPECT_LT(std::abs(held.mean), 3 * held.mean_error);
  }
  EXPECT_LT(log_jacobian_correlation(ctx, ab, ba), -0.95);
}

}  // namespace
}  // namespace freeflow
