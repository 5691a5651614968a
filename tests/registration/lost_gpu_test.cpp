// A GPU that is lost while it works: wherever that is, a registration ends by one sentence.
// On the emulated device, whose GPU may be lost at any call of the runtime.
#include <emulated_gpu.h>

#include <freeflow/registration/register_images.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

class LostGpu : public testing::TestWithParam<Device> {};
FREEFLOW_ON_EVERY_DEVICE(LostGpu);

/// The field of a small registration with images and context of its own.
std::vector<float> found(const Device& device, const NonrigidModel& model) {
  Context ctx = sharing_context(device);
  const Geometry g = plain_geometry({12, 11, 10});
  const auto image = [&](double shift) {
    return sample_world(ctx, g, [shift](const Eigen::Vector3d& p) {
      return head(p - Eigen::Vector3d(5.5 + shift, 5, 4.5), 4);
    });
  };
  RegistrationOptions options;
  options.model = model;
  options.linear = std::nullopt;
  options.start = StartKind::none;
  return register_images(ctx, image(0), image(1), options).displacement.to_host(ctx);
}

template <class Model>
Model small() {
  Model model;
  model.levels = 2;
  model.iterations = {2};
  model.with_inverse = true;
  return model;
}

void expect_a_sentence_wherever_it_is_lost(const Device& device, const NonrigidModel& model) {
  const std::vector<float> expected = found(device, model);
  const long before = emulation::runtime_calls();
  ASSERT_EQ(found(device, model), expected);
  const long calls = emulation::runtime_calls() - before;
  ASSERT_GT(calls, 100);
  for (long n = 0; n < calls; n += 1 + n / 8) {
    SCOPED_TRACE("after call " + std::to_string(n) + " of " + std::to_string(calls));
    emulation::lose_gpu_after(n);
    try {
      found(device, model);
      // What is asked after the field has come back are matters of cleaning up.
      EXPECT_GT(n, calls - calls / 4) << "nobody noticed";
    } catch (const DeviceError& e) {
      EXPECT_NE(std::string(e.what()).find("the GPU no longer answers"), std::string::npos)
          << e.what();
    }
    emulation::lose_gpu_after(emulation::never);
  }
  EXPECT_EQ(found(device, model), expected) << "a new context is as good as ever";
}

TEST_P(LostGpu, EndsAFreeFormDeformationBySayingSo) {
  if (!GetParam().is_cuda()) GTEST_SKIP() << "of GPUs";
  expect_a_sentence_wherever_it_is_lost(GetParam(), small<FfdOptions>());
}

TEST_P(LostGpu, EndsAFlowBySayingSo) {
  if (!GetParam().is_cuda()) GTEST_SKIP() << "of GPUs";
  FlowOptions flow = small<FlowOptions>();
  flow.similarity.kind = SimilarityKind::lncc;
  expect_a_sentence_wherever_it_is_lost(GetParam(), flow);
}

}  // namespace
}  // namespace freeflow
