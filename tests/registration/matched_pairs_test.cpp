// Fixed images smoothed to the voxels of their moving ones.
#include <freeflow/registration/levels/matched_pairs.h>

#include <cmath>

#include <freeflow/core/geometry.h>
#include <freeflow/registration/register_images.h>
#include <freeflow/regularize/gaussian.h>

#include "support/devices.h"
#include "support/registrations.h"

namespace freeflow {
namespace matched_pairs_test {

using namespace test;

Geometry grid(const Extent& extent, const Eigen::Vector3d& spacing) {
  Geometry g{extent};
  g.spacing = spacing;
  return g;
}

PointMap map_between(const Geometry& fixed, const Geometry& moving,
                     const Eigen::Affine3d& affine = Eigen::Affine3d::Identity()) {
  return index_map(fixed, affine, moving);
}

TEST(MatchedPairs, TheBlurIsTheDifferenceOfTheBoxes) {
  const Geometry fine = grid({30, 30, 30}, {1, 1, 1});
  const auto blur = [&](const Eigen::Vector3d& spacing) {
    return blur_to_match(map_between(fine, grid({10, 10, 10}, spacing)));
  };
  // A box of q voxels has the variance q^2 / 12.
  EXPECT_TRUE(
      blur({3, 2, 1}).isApprox(Eigen::Vector3d(std::sqrt(8. / 12), std::sqrt(3. / 12), 0), 1e-6));
  EXPECT_TRUE(blur({1.2, 0.5, 1}).isZero(0)) << "alike, or the fixed voxels the larger ones";
}

TEST(MatchedPairs, LengthsAreThoseAlongTheFixedImagesAxes) {
  const Geometry fine = grid({30, 30, 30}, {1, 1, 1}), thick = grid({30, 30, 6}, {1, 1, 5});
  const Eigen::Affine3d quarter(Eigen::AngleAxisd(M_PI / 2, Eigen::Vector3d::UnitX()));
  const Eigen::Vector3d turned = blur_to_match(map_between(fine, thick, quarter));
  EXPECT_NEAR(turned.y(), std::sqrt(2.0), 1e-5) << "slices across y: (25 - 1) / 12";
  EXPECT_EQ(turned.z(), 0);
  // Of slices that are a little tilted: what they cover along the axis, and nothing where the
  // fixed voxels are as thick.
  const double angle = 0.2;
  const Eigen::Affine3d tilt(Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitX()));
  const Eigen::Vector3d tilted = blur_to_match(map_between(thick, thick, tilt));
  const double covered = std::pow(std::cos(angle), 2) + std::pow(5 * std::sin(angle), 2);
  EXPECT_TRUE(tilted.isApprox(Eigen::Vector3d(0, std::sqrt((covered - 1) / 12), 0), 1e-6));
  // A moving image that is magnified has larger voxels.
  const Eigen::Affine3d shrink(Eigen::Scaling(0.5));
  EXPECT_NEAR(blur_to_match(map_between(fine, fine, shrink)).x(), 0.5, 1e-5);
}

class MatchedImages : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(MatchedImages);

/// Of three slices of 1 mm beside one of 20 mm, every voxel is compared.
TEST_P(MatchedImages, AThinSlabKeepsItsVoxels) {
  for (const int slices : {1, 2, 3}) {
    const Geometry thin = grid({12, 10, slices}, {1, 1, 1}), coarse = grid({12, 10, 4}, {1, 1, 20});
    std::vector<float> values(thin.extent.count());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 5 + std::sin(0.1f * float(i));
    const Volume<float> fixed(ctx, thin, values), moving(ctx, coarse);
    const PointMap across = map_between(thin, coarse);
    const MatchedPairs matched(ctx, {{fixed, moving, across}}, across);
    for (const float v : matched.pairs()[0].fixed.to_host(ctx)) {
      ASSERT_GE(v, 4) << slices;
      ASSERT_LE(v, 6) << slices;
    }
  }
}

TEST_P(MatchedImages, ImagesAreSmoothedAndWhatHasNoValueKeepsNone) {
  const Geometry fine = grid({24, 20, 16}, {1, 1, 1}), coarse = grid({8, 20, 16}, {3, 1, 1});
  std::vector<float> values(fine.extent.count());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 11 == 0 ? NAN : std::sin(0.1f * float(i));
  const Volume<float> fixed(ctx, fine, values), moving(ctx, coarse);
  const PointMap same = map_between(fine, fine), larger = map_between(fine, coarse);
  const MatchedPairs alike(ctx, {{fixed, fixed, same}}, same);
  EXPECT_EQ(&alike.pairs()[0].fixed, &fixed);
  const MatchedPairs matched(ctx, {{fixed, moving, larger}, {fixed, moving, larger}}, larger);
  ASSERT_EQ(matched.pairs().size(), 2u);
  EXPECT_EQ(&matched.pairs()[1].moving, &moving);
  const auto expected = gaussian(ctx, fixed, {std::sqrt(8. / 12), 0, 0}).to_host(ctx);
  for (const ImagePair& pair : matched.pairs()) {
    const auto found = pair.fixed.to_host(ctx);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::isnan(found[i]), std::isnan(values[i])) << i;
      if (!std::isnan(values[i])) {
        ASSERT_NEAR(found[i], expected[i], 1e-6f) << i;
      }
    }
  }
}

TEST_P(MatchedImages, TheirMemoryIsPredicted) {
  const Phantom p(centred(oblique_geometry({64, 60, 48}, {1.4, 1.4, 1.4})),
                  centred(oblique_geometry({23, 22, 18}, {4.2, 4.2, 4.2})), false);
  for (NonrigidModel model : {NonrigidModel(FfdOptions{}), NonrigidModel(FlowOptions{})}) {
    std::visit(
        [](auto& o) {
          o.iterations = {4, 2, 2, 2};
          o.levels = 4;
        },
        model);
    const RegistrationOptions options{std::move(model), LinearModel::affine, StartKind::none};
    Context fresh(ctx.device());
    const Volume<float> f(fresh, p.fixed, p.f), m(fresh, p.moving, p.m);
    fresh.reset_peak();
    register_images(fresh, f, m, options);
    EXPECT_LE(fresh.statistics().peak_bytes,
              predict_bytes(fresh, {p.fixed, p.moving, false, false, {}}, options));
  }
}

}  // namespace matched_pairs_test
}  // namespace freeflow
