// What a template knows of its subjects and of itself, against closed forms.
#include <gtest/gtest.h>

#include <cmath>

#include <freeflow/atlas/cohort.h>
#include <freeflow/atlas/frame.h>
#include <freeflow/atlas/intensities.h>
#include <freeflow/atlas/template_image.h>
#include <freeflow/core/error.h>
#include <support/devices.h>
#include <support/phantoms.h>

namespace atlas_subjects_test {

using namespace freeflow;
using namespace freeflow::test;

AtlasSubject subject(const Geometry& g, std::vector<float> voxels, std::vector<float> mask = {}) {
  return {"s01", g, {std::move(voxels)}, std::move(mask)};
}

TEST(SubjectIntensities, OfTheForegroundHaveTheUsualMean) {
  const Geometry g = plain_geometry({10, 10, 10});
  const auto voxels = [](std::size_t i) { return i < 500 ? 0.f : i < 700 ? 2.f : 80.f; };
  std::vector<float> image(1000), mask(1000);
  for (std::size_t i = 0; i < 1000; ++i) image[i] = voxels(i), mask[i] = i % 10 >= 5;
  image[3] = NAN;
  AtlasSubject whole = subject(g, image);
  normalise_intensities(whole);
  EXPECT_TRUE(std::isnan(whole.channels[0][3]));
  EXPECT_FLOAT_EQ(whole.channels[0][0], 0);
  EXPECT_FLOAT_EQ(whole.channels[0][600], 2.5f) << "darker than an eighth of the mean";
  EXPECT_FLOAT_EQ(whole.channels[0][999], 100);
  AtlasSubject masked = subject(g, image, mask);
  normalise_intensities(masked);
  EXPECT_NEAR(masked.channels[0][999], 80 * 100 / (0.3 * 80 + 0.2 * 2), 1e-3) << "all of the mask";
  AtlasSubject flat = subject(g, std::vector<float>(1000, 7));
  EXPECT_THROW(normalise_intensities(flat), RegistrationError);
}

TEST(SubjectMoments, AreThoseOfABallAboveAnEighthInsideTheMask) {
  Geometry g = oblique_geometry({40, 32, 28}, {1, 1.25, 1.5});
  const Eigen::Vector3d middle = g.center() + g.direction * Eigen::Vector3d(3, -2, 1);
  const Eigen::Affine3d world = g.index_to_world();
  const auto away = [&](int x, int y, int z) -> Eigen::Vector3d {
    return world * Eigen::Vector3d(x, y, z) - middle;
  };
  const std::vector<float> image = voxelwise(
      g.extent, [&](int x, int y, int z) { return away(x, y, z).norm() < 12 ? 100 : 10; });
  const ObjectMoments whole = object_moments(subject(g, image));
  EXPECT_LT((whole.centre - middle).norm(), 0.1);
  EXPECT_NEAR(whole.radius_mm, 12, 0.15);
  const std::vector<float> half = voxelwise(
      g.extent, [&](int x, int y, int z) { return away(x, y, z).dot(g.direction.col(2)) > 0; });
  const ObjectMoments upper = object_moments(subject(g, image, half));
  EXPECT_NEAR((upper.centre - middle).dot(g.direction.col(2)), 12 * 3 / 8.0, 0.3)
      << "of half a ball";
  EXPECT_THROW(object_moments(subject(g, std::vector<float>(image.size(), 12))), RegistrationError);
}

TEST(Frame, DistanceIsTheRootMeanSquareOverTheBall) {
  const Eigen::Vector3d centre(10, -20, 30);
  const Eigen::Affine3d larger =
      Eigen::Translation3d(centre) * Eigen::Scaling(1.1) * Eigen::Translation3d(-centre);
  const Eigen::Affine3d identity = Eigen::Affine3d::Identity();
  EXPECT_NEAR(affine_distance_mm(larger, identity, centre, 80), 8 * std::sqrt(0.6), 1e-9);
  EXPECT_NEAR(affine_distance_mm(Eigen::Translation3d(0, 6, 0) * larger, identity, centre, 80),
              std::sqrt(64 * 0.6 + 36), 1e-9);
}

TEST(Frame, WhoIsLittleApartFromEqualsIsNotLeftOut) {
  std::vector<Eigen::Affine3d> maps(6, Eigen::Affine3d::Identity());
  for (const auto& [mm, left_out] : {std::pair(2.0, false), {10.0, true}}) {
    maps[5] = Eigen::Translation3d(mm, 0, 0);
    EXPECT_EQ(trimmed_log_mean(maps, Eigen::Vector3d::Zero(), 80).left_out[5], left_out)
        << mm << " mm, of a twentieth of 80";
  }
}

TEST(Frame, ShapeIsWithoutTurnAndShift) {
  const Eigen::Vector3d centre(10, -20, 30);
  const Eigen::Affine3d shape =
      shape_part(Eigen::Translation3d(3, 1, -2) * Eigen::AngleAxisd(0.4, Eigen::Vector3d::UnitY()) *
                     Eigen::Scaling(1.2, 0.9, 1.0),
                 centre);
  EXPECT_TRUE(
      shape.linear().isApprox(Eigen::Vector3d(1.2, 0.9, 1.0).asDiagonal().toDenseMatrix(), 1e-12));
  EXPECT_LT((shape * centre - centre).norm(), 1e-9);
}

SubjectCard card(const Geometry& g) {
  SubjectCard c;
  c.geometry = g;
  return c;
}

TEST(Frame, GridOfSubjectsOnDifferentOnesIsOfMedians) {
  Geometry axial = plain_geometry({20, 50, 10});  // 40 x 50 x 30 mm
  axial.spacing = {2, 1, 3};
  axial.space_code = 3;
  Geometry other = plain_geometry({25, 30, 40});  // the same, stored y, z, x
  other.spacing = {2, 1, 1};
  other.direction << 0, 0, 1, 1, 0, 0, 0, 1, 0;
  other.space_code = 3;
  Geometry moved = other;
  moved.origin.x() += 4;
  const Eigen::Vector3d centre(7, -3, 11);
  const std::vector<SubjectCard> cards{card(axial), card(other), card(moved)};
  const Geometry grid = template_grid(cards, centre);
  EXPECT_EQ(grid.extent, (Extent{40, 50, 30}));
  EXPECT_EQ(grid.spacing, Eigen::Vector3d(1, 1, 1));
  EXPECT_EQ(grid.direction, Eigen::Matrix3d::Identity());
  EXPECT_LT((grid.center() - centre).norm(), 1e-12);
  EXPECT_EQ(grid.space_code, 3);
  Geometry single = plain_geometry({40, 50, 30});  // with spacings as headers have them
  single.spacing.setConstant(double(0.15F));
  single.spacing.z() = double(std::nextafter(0.15F, 1.F));
  Geometry shifted = single;
  shifted.origin.x() += 1;
  EXPECT_EQ(template_grid(std::vector{card(single), card(shifted)}, centre).extent, single.extent);
  moved.space_code = 4;
  EXPECT_EQ(common_space_code(std::vector{card(axial), card(moved)}), Geometry{}.space_code);
  const Geometry own = template_grid(std::vector{card(axial), card(axial)}, centre);
  EXPECT_EQ(own.extent, axial.extent);
  EXPECT_EQ(own.origin, axial.origin) << "one grid of all is the template's";
}

class TemplateImages : public OnDevice {
 protected:
  static float at(const Volume<float>& image, Context& ctx, std::size_t voxel) {
    return image.to_host(ctx)[voxel];
  }
};
FREEFLOW_ON_EVERY_DEVICE(TemplateImages);

TEST_P(TemplateImages, ShowTheObjectWhereAFifthOfTheUsualOrHalfOfTheMasksDo) {
  const Geometry g = plain_geometry({6, 5, 4});
  const auto image = [&](float left, float right) {
    return Volume<float>(
        ctx, g, voxelwise(g.extent, [&](int x, int, int) { return x < 3 ? left : right; }));
  };
  Ranks one;
  const AtlasOptions options;
  for (const bool masks : {false, true}) {
    TemplateAverage average(ctx, g, 1, masks, options);
    for (const float by : {-1.f, 1.f}) {
      std::vector<Volume<float>> channels;
      channels.push_back(image(15 + by, 25 + by));
      average.add(ctx, channels, masks ? image(by > 0 ? 1 : 0.2f, 0.4f) : Volume<float>());
    }
    const TemplateImage made = average.result(ctx, one);
    EXPECT_NEAR(at(made.channels[0], ctx, 0), 15, 1e-4);
    EXPECT_EQ(at(made.mask, ctx, 0), masks ? 1 : 0) << masks;
    EXPECT_EQ(at(made.mask, ctx, 5), masks ? 0 : 1) << masks;
  }
}

TEST_P(TemplateImages, SharpeningLeavesWhatIsEven) {
  const Geometry g = plain_geometry({9, 8, 7});
  Ranks one;
  AtlasOptions options;
  options.sharpening = 0.5;
  TemplateAverage average(ctx, g, 1, false, options);
  std::vector<Volume<float>> channels;
  channels.push_back(Volume<float>(ctx, g, std::vector<float>(g.extent.count(), 80)));
  average.add(ctx, channels, {});
  average.add(ctx, channels, {});
  EXPECT_NEAR(at(average.result(ctx, one).channels[0], ctx, g.extent.offset(4, 4, 3)), 80, 1e-3);
}

TEST(TemplateFigures, SharpnessIsTheGradientPerMillimetre) {
  Geometry g = plain_geometry({9, 8, 7});
  g.spacing = {1, 2, 0.25};
  const std::vector<float> image = voxelwise(g.extent, [&](int x, int y, int z) {
    return 100 * (0.02 * 1 * x - 0.03 * 2 * y + 0.06 * 0.25 * z);
  });
  EXPECT_NEAR(sharpness_of(image, std::vector<float>(image.size(), 1), g), 0.07, 1e-6);
}

TEST(TemplateFigures, CorrelationIsPearsons) {
  const std::vector<float> a = {1, 4, 2, 8, 5, 7, 100}, ones(7, 1);
  std::vector<float> mask = ones, b(7);
  for (std::size_t i = 0; i < 7; ++i) b[i] = 3 - 2 * a[i];
  EXPECT_NEAR(correlation_of(a, b, ones), -1, 1e-12);
  b[6] = 0;
  mask[6] = 0.5f;
  EXPECT_NEAR(correlation_of(a, b, mask), -1, 1e-12) << "what the mask leaves out";
  b = {2, 1, 4, 3, 6, 5, NAN};
  EXPECT_NEAR(correlation_of(a, b, ones), 8.5 / std::sqrt(37.5 * 17.5), 1e-9);
}

}  // namespace atlas_subjects_test
