// What masks leave out of a whole registration, on every device.
#include <freeflow/registration/register_images.h>

#include "support/devices.h"
#include "support/registrations.h"

namespace freeflow {
namespace masks_test {

using namespace test;

class MaskedImages : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(MaskedImages);

TEST_P(MaskedImages, OverlapIsThatOfTheVoxelsInsideTheMaskBeforeAndAfter) {
  const Phantom p = turned_phantom();
  const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
  std::vector<float> middle(p.fixed.extent.count());
  const Extent n = p.fixed.extent;
  for (int z = n.z / 3; z < n.z - n.z / 3; ++z)
    for (int y = n.y / 3; y < n.y - n.y / 3; ++y)
      for (int x = n.x / 3; x < n.x - n.x / 3; ++x) middle[n.offset(x, y, z)] = 1;
  const Volume<float> mask(ctx, p.fixed, middle);
  RegistrationOptions options{two_levels<FlowOptions>(), std::nullopt};
  const RegistrationResult whole = register_images(ctx, f, m, options),
                           inside = register_images(ctx, f, m, options, {&mask, nullptr});
  EXPECT_LT(whole.overlap_after, 0.95);
  EXPECT_EQ(inside.overlap_before, 1);
  EXPECT_EQ(inside.overlap_after, 1);
}

TEST_P(MaskedImages, OverlapIsThatThroughTheDisplacementThatIsStartedFrom) {
  const Geometry g = plain_geometry({20, 16, 12});
  const Volume<float> image =
      sample_world(ctx, g, [](const Eigen::Vector3d& p) { return texture(p); });
  const DisplacementField u(ctx, g, field_planes(g.extent, [](int x, int, int) {
                              return Eigen::Vector3d(x < 10 ? -6 : 0, 0, 0);
                            }));
  FlowOptions flow;
  flow.levels = 1;
  flow.iterations = {0};
  flow.initial_displacement = &u;
  const RegistrationResult r = register_images(ctx, image, image, {flow, LinearModel::affine});
  EXPECT_FALSE(r.linear.has_value()) << "whose affine the displacement would not go with";
  EXPECT_EQ(r.overlap_before, 0.7) << "six columns in twenty leave the moving image";
  EXPECT_EQ(r.affine.matrix(), Eigen::Matrix4d::Identity());
  flow.initial_displacement = nullptr;
  flow.initial.translation().x() = 4;
  const RegistrationResult moved =
      register_images(ctx, image, image, {flow, std::nullopt, StartKind::none});
  EXPECT_EQ(moved.overlap_before, 0.8);
  EXPECT_EQ(moved.overlap_after, 0.8);
  // What is found leads most of the others back.
  flow.iterations = {60};
  flow.similarity.kind = SimilarityKind::ssd;
  const RegistrationResult found =
      register_images(ctx, image, image, {flow, std::nullopt, StartKind::none});
  EXPECT_EQ(found.overlap_before, 0.8);
  EXPECT_GT(found.overlap_after, 0.85);
}

TEST_P(MaskedImages, WhatLiesOutsideTheMasksChangesNoBit) {
  const Phantom p = turned_phantom();
  const auto ball = [](const Geometry& g, double radius) {
    const Eigen::Affine3d to_world = g.index_to_world();
    return voxelwise(g.extent, [&](int x, int y, int z) {
      return (to_world * Eigen::Vector3d(x, y, z) - g.center()).norm() < radius;
    });
  };
  const std::vector<float> inside_f = ball(p.fixed, 18), inside_m = ball(p.moving, 20);
  const Volume<float> fixed_mask(ctx, p.fixed, inside_f), moving_mask(ctx, p.moving, inside_m);
  const auto with_outside = [](std::vector<float> image, const std::vector<float>& inside,
                               const std::vector<float>& outside) {
    for (std::size_t i = 0; i < image.size(); ++i)
      if (inside[i] == 0) image[i] = outside[i];
    return image;
  };
  for (const NonrigidModel& model :
       {NonrigidModel(two_levels<FlowOptions>()), NonrigidModel(two_levels<FfdOptions>())}) {
    const auto registered = [&](const std::vector<float>& f, const std::vector<float>& m) {
      const RegistrationResult r =
          register_images(ctx, Volume<float>(ctx, p.fixed, f), Volume<float>(ctx, p.moving, m),
                          {model, LinearModel::affine}, {&fixed_mask, &moving_mask});
      return std::pair(r.affine.matrix().eval(), r.displacement.to_host(ctx));
    };
    const auto expected = registered(p.f, p.m);
    for (const float largest : {0.0f, 1000.0f}) {
      const auto found =
          registered(with_outside(p.f, inside_f, random_values(p.f.size(), 7, 0, largest)),
                     with_outside(p.m, inside_m, random_values(p.m.size(), 8, 0, largest)));
      EXPECT_EQ(found.first, expected.first) << largest;
      EXPECT_EQ(found.second, expected.second) << largest;
    }
  }
}

/// One mask that leaves a small part is looked at by the whole images first.
TEST_P(MaskedImages, ALinearRunOfOneMaskStaysWithinItsPrediction) {
  const Phantom p = turned_phantom();
  for (const bool of_fixed : {true, false})
    for (const double radius : {5.0, 9.0, 14.0, 100.0}) {
      Context fresh(GetParam());
      const Geometry& grid = of_fixed ? p.fixed : p.moving;
      Volume<float> mask = sample_world(fresh, grid, [&](const Eigen::Vector3d& x) {
        return (x - grid.center()).norm() < radius ? 1.0 : 0.0;
      });
      LinearOptions o;
      o.iterations = {2};
      {
        const Volume<float> f(fresh, p.fixed, p.f), m(fresh, p.moving, p.m);
        const Masks masks{of_fixed ? &mask : nullptr, of_fixed ? nullptr : &mask};
        register_linear(fresh, f, m, o, masks);
      }
      RegistrationInputs inputs{p.fixed, p.moving, of_fixed, !of_fixed, {}};
      inputs.images_kept = true;
      EXPECT_LE(fresh.statistics().peak_bytes, predict_bytes(fresh, inputs, o))
          << of_fixed << " of radius " << radius;
    }
}

}  // namespace masks_test
}  // namespace freeflow
