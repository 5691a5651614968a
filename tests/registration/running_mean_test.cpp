// The mean of a flow's last states, on every device.
#include <freeflow/registration/flow/running_mean.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

class MeanOfStates : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(MeanOfStates);

TEST_P(MeanOfStates, IsThatOfWhatWasAdded) {
  const Geometry g = oblique_geometry({13, 7, 5});
  std::vector<double> sum(3 * g.extent.count(), 0);
  RunningMean mean(ctx, g);
  for (unsigned k = 1; k <= 5; ++k) {
    const std::vector<float> u = random_values(sum.size(), k, -2, 2);
    mean.add(ctx, DisplacementField(ctx, g, u).view());
    for (std::size_t i = 0; i < u.size(); ++i) sum[i] += u[i];
  }
  DisplacementField state(ctx, g);
  state.fill_zero(ctx);
  mean.replace(state);
  const std::vector<float> found = state.to_host(ctx);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], sum[i] / 5, 1e-6) << i;
}

TEST_P(MeanOfStates, OfOneIsThatOneAndOfNoneLeavesTheState) {
  const Geometry g = plain_geometry({5, 4, 3});
  const std::vector<float> u = random_values(3 * g.extent.count(), 3, -1, 1),
                           v = random_values(u.size(), 4, -1, 1);
  RunningMean mean(ctx, g);
  DisplacementField state(ctx, g, v);
  mean.replace(state);
  EXPECT_EQ(state.to_host(ctx), v);
  mean.add(ctx, DisplacementField(ctx, g, v).view());
  mean.restart();
  mean.add(ctx, DisplacementField(ctx, g, u).view());
  mean.replace(state);
  EXPECT_EQ(state.to_host(ctx), u) << "what was added before is forgotten";
}

TEST(MeanOfStatesOfALevel, AreTheLastQuarter) {
  EXPECT_EQ(RunningMean::first_of(100), 75);
  EXPECT_EQ(RunningMean::first_of(15), 11);
  EXPECT_EQ(RunningMean::first_of(2), 1);
  EXPECT_EQ(RunningMean::first_of(1), 1);  // nothing to average
}

}  // namespace
}  // namespace freeflow
