// What the pages' pictures are made of: planes, windows, edges, grids, folds, figures, the verdict.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include <apps/closing_words.h>
#include <apps/html.h>
#include <apps/report_page/edges.h>
#include <apps/report_page/pictures.h>
#include <apps/report_page/verdict.h>
#include <freeflow/registration/report_figures.h>

#include "support/phantoms.h"

namespace freeflow {
namespace report_pictures_test {

using namespace apps;
using test::oblique_geometry;

TEST(Planes, ShowWhatIsUpAtTheTopWhateverTheOrderOfTheAxes) {
  Geometry g;  // as FreeSurfer's grids: left, inferior, anterior
  g.extent = {3, 4, 5};
  g.direction << 1, 0, 0, 0, 0, -1, 0, -1, 0;
  std::vector<float> voxels(g.extent.count());
  for (int k = 0; k < 5; ++k)
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 3; ++i) voxels[g.extent.offset(i, j, k)] = float(100 * k + 10 * j + i);
  const auto planes = planes_through(g, {1, 2, 2});
  const auto axial = values_on(planes[0], g, voxels), coronal = values_on(planes[1], g, voxels),
             sagittal = values_on(planes[2], g, voxels);
  EXPECT_EQ(axial.front(), 420) << "anterior, right";
  EXPECT_EQ(axial.back(), 22) << "posterior, left";
  EXPECT_EQ(coronal.front(), 200) << "superior, right";
  EXPECT_EQ(coronal.back(), 232) << "inferior, left";
  EXPECT_EQ(sagittal.front(), 401) << "superior, anterior";
  EXPECT_EQ(sagittal.back(), 31) << "inferior, posterior";
}

TEST(Planes, LieAsRadiologistsSeeThem) {
  Geometry g;  // axes: posterior, superior, right
  g.extent = {5, 7, 9};
  g.spacing = {1, 2, 3};
  g.direction << 0, 0, -1, 1, 0, 0, 0, 1, 0;
  const auto planes = planes_through(g, {1, 2, 3});
  const auto at = [&](int i, int column, int row) -> Eigen::Vector3d {
    return planes[std::size_t(i)].grid().index_to_world() * Eigen::Vector3d(column, row, 0);
  };
  EXPECT_EQ(planes[0].name, "axial");
  EXPECT_EQ(planes[0].slab.extent.x, 9);
  EXPECT_EQ(planes[0].slab.extent.y, 5);
  const Eigen::Vector3d left(1, 0, 0), back(0, 1, 0), feet(0, 0, -1);
  EXPECT_TRUE((at(0, 1, 0) - at(0, 0, 0)).isApprox(3 * left));
  EXPECT_TRUE((at(0, 0, 1) - at(0, 0, 0)).isApprox(1 * back));
  EXPECT_TRUE((at(1, 1, 0) - at(1, 0, 0)).isApprox(3 * left));
  EXPECT_TRUE((at(1, 0, 1) - at(1, 0, 0)).isApprox(2 * feet));
  EXPECT_TRUE((at(2, 1, 0) - at(2, 0, 0)).isApprox(1 * back));
  EXPECT_TRUE((at(2, 0, 1) - at(2, 0, 0)).isApprox(2 * feet));
  for (int i = 0; i < 3; ++i) {  // each holds the voxel asked for
    const Plane& p = planes[std::size_t(i)];
    const Eigen::Vector3d voxel =
        p.grid().world_to_index() * (g.index_to_world() * Eigen::Vector3d(1, 2, 3));
    EXPECT_NEAR(voxel.z(), 0, 1e-9);
    EXPECT_EQ(p.slab.extent.z, 3);
  }
}

TEST(Planes, OfOneSliceHaveASlabOfOne) {
  Geometry g = oblique_geometry({4, 5, 1});
  for (const Plane& p : planes_through(g, {1, 1, 0.4}))
    EXPECT_EQ(p.slab.extent.z, p.across == 2 ? 1 : 3);
}

TEST(RobustWindow, IgnoresOutliersAndTakesAConstantImage) {
  std::vector<float> ramp(1000);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = float(i);
  ramp[7] = 1e9F;
  ramp[8] = NAN;
  const Window w = robust_window({10, 10, 10}, ramp);
  EXPECT_NEAR(w.low, 10, 3);
  EXPECT_NEAR(w.high, 995, 5);
  EXPECT_TRUE(std::isnan(w(NAN)));
  const Window flat = robust_window({10, 10, 10}, std::vector<float>(1000, 7));
  EXPECT_GT(flat.high, flat.low);
  const Window none = robust_window({10, 10, 10}, std::vector<float>(1000, NAN));
  EXPECT_GT(none.high, none.low);
}

TEST(MiddleOfObject, IsABallsCentre) {
  const Extent n{40, 30, 20};
  const Eigen::Vector3d centre(25, 12, 11);
  const auto ball = test::voxelwise(
      n, [&](int x, int y, int z) { return (Eigen::Vector3d(x, y, z) - centre).norm() < 6; });
  EXPECT_LT((middle_of_object(n, ball, {0, 1}) - centre).norm(), 0.1);
  EXPECT_EQ(middle_of_object(n, std::vector<float>(n.count(), 0), {0, 1}),
            Eigen::Vector3d(19.5, 14.5, 9.5));
}

TEST(Edges, OfADiscAreItsCircle) {
  std::vector<float> disc;
  for (int y = 0; y < 40; ++y)
    for (int x = 0; x < 60; ++x) disc.push_back(std::hypot(x - 30, 2.0 * (y - 20)) < 20 ? 1 : 0);
  const auto edges = edges_of(disc, 60, 40, 1, 2);  // rows lie twice as far apart
  int found = 0;
  for (int y = 0; y < 40; ++y)
    for (int x = 0; x < 60; ++x)
      if (edges[60 * std::size_t(y) + std::size_t(x)]) {
        ++found;
        EXPECT_NEAR(std::hypot(x - 30, 2.0 * (y - 20)), 20, 2.6) << x << ' ' << y;
      }
  EXPECT_GT(found, 50);
  const auto none = edges_of(std::vector<float>(2400, 0.5F), 60, 40, 1, 2);
  EXPECT_EQ(std::count(none.begin(), none.end(), 1), 0);
}

class Pictured : public testing::Test {
 protected:
  Context cpu{Device{}};
  const Geometry grid = oblique_geometry({24, 20, 12});
  const Volume<float> image =
      test::sample_world(cpu, grid, [](const Eigen::Vector3d& p) { return test::texture(p); });
  const Eigen::Affine3d identity = Eigen::Affine3d::Identity();

  template <class U>
  DisplacementField field(U&& u) {
    std::vector<float> planes;
    for (int component = 0; component < 3; ++component)
      for (float v :
           test::voxelwise(grid.extent, [&](int x, int y, int z) { return u(x, y, z)[component]; }))
        planes.push_back(v);
    return {cpu, grid, planes};
  }
};

TEST_F(Pictured, APlaneOfNoDisplacementIsFlat) {
  const DisplacementField none = field([](int, int, int) { return Eigen::Vector3d(0, 0, 0); });
  for (const PlaneValues& p : values_of_planes(cpu, {image, image, identity, &none}, {9, 9, 5})) {
    for (std::size_t i = 0; i < p.fixed.size(); ++i) {
      EXPECT_NEAR(p.fixed[i], p.warped[i], 1e-4);
      EXPECT_NEAR(p.jacobian[i], 1, 1e-5);
      EXPECT_EQ(p.folded[i], 0);
    }
    EXPECT_TRUE(p.affine.empty());
  }
}

TEST_F(Pictured, AFoldIsMarkedWhereItIs) {
  // Voxel (9, 9, 5) passes its neighbour along x: central differences jump over it.
  const DisplacementField folding = field([](int x, int y, int z) {
    return Eigen::Vector3d(x == 9 && y == 9 && z == 5 ? 1.2 : 0, 0, 0);
  });
  EXPECT_GT(jacobian_statistics(cpu, folding).folded_voxels, 0U);
  const auto planes = values_of_planes(cpu, {image, image, identity, &folding}, {9, 9, 5});
  for (const PlaneValues& p : planes) {
    const auto marked = std::count(p.folded.begin(), p.folded.end(), 1);
    EXPECT_GE(marked, 1) << p.plane.name;
    EXPECT_LE(marked, 2) << p.plane.name;
  }
  const PagePictures drawn = make_pictures(planes, {-2, 2}, {-2, 2});
  EXPECT_FALSE(drawn.planes[0].log_jacobian.empty());
}

TEST_F(Pictured, TheGridGoesWhereTheDisplacementTakesIt) {
  // A voxel along the first axis everywhere.
  const auto first_points = [&](double shift) {
    const DisplacementField u = field([&](int, int, int) { return Eigen::Vector3d(shift, 0, 0); });
    const PagePictures drawn = make_pictures(
        values_of_planes(cpu, {image, image, identity, &u}, {9, 9, 5}), {-2, 2}, {-2, 2});
    std::istringstream path(drawn.planes[0].grid.substr(1));
    Eigen::Vector2d point;
    path >> point.x() >> point.y();
    return point;
  };
  const Eigen::Vector2d still = first_points(0), shifted = first_points(1);
  // The grid's longest side, 12 voxels of 2.5 mm, is 2000 units.
  const double voxel_units = 2000 * 1.2 / (12 * 2.5);
  EXPECT_NEAR(std::abs(shifted.x() - still.x()), voxel_units, 1.01);
  EXPECT_NEAR(shifted.y(), still.y(), 1.01);
}

TEST_F(Pictured, StayBelowTheLimit) {
  std::vector<float> noise = test::random_values(grid.extent.count(), 3);
  const Volume<float> noisy(cpu, grid, noise);
  const auto planes = values_of_planes(cpu, {noisy, noisy, identity}, {9, 9, 5});
  const PagePictures whole = make_pictures(planes, {0, 1}, {0, 1}),
                     small = make_pictures(planes, {0, 1}, {0, 1}, whole.bytes() * 4 / 5);
  EXPECT_EQ(whole.step, 1);
  EXPECT_GT(small.step, 1);
  EXPECT_LE(small.bytes(), whole.bytes() * 4 / 5);
}

TEST_F(Pictured, TheRangeIsThatOfTheLengths) {
  const DisplacementField u =
      field([](int x, int y, int) { return Eigen::Vector3d(x == 3 && y == 3 ? 10 : 1, 0, 0); });
  const DisplacementRange range = displacement_range(cpu, u);
  EXPECT_NEAR(range.max_mm, 12, 1e-5);
  EXPECT_NEAR(range.mean_mm, 1.2 * (1 + 9.0 / (24 * 20)), 1e-5);
  EXPECT_NEAR(range.p99_mm, 1.2, 1e-5);
}

TEST_F(Pictured, SimilarityIsTwoForAnImageWithItselfAndFallsWhenShifted) {
  Eigen::Affine3d shift = identity;
  shift.translation().x() = 8;
  const Similarities s = similarities(cpu, image, image, shift, nullptr, {});
  ASSERT_TRUE(s.before && s.after);
  EXPECT_GT(*s.before, 1.5);
  EXPECT_LT(*s.after, *s.before - 0.3);
  EXPECT_EQ(s.affine, s.after);
  shift.translation().x() = 500;  // nowhere
  EXPECT_FALSE(similarities(cpu, image, image, shift, nullptr, {}).after);
}

TEST_F(Pictured, SimilarityIsOfWhatCountsOfTheMovingImage) {
  std::vector<float> half(image.extent().count()), voxels = image.to_host(cpu);
  for (std::size_t i = 0; i < half.size(); ++i) half[i] = float(i % 24 < 12);
  const auto beside = [&](unsigned seed, const MasksOnHost& masks) {
    const std::vector<float> other = test::random_values(voxels.size(), seed, -1, 1);
    std::vector<float> moving = voxels;
    for (std::size_t i = 0; i < moving.size(); ++i)
      if (half[i] == 0) moving[i] = other[i];
    return similarities(cpu, image, {cpu, grid, moving}, identity, nullptr, masks).before;
  };
  const auto inside = beside(1, {nullptr, &half});
  ASSERT_TRUE(inside);
  EXPECT_GT(*inside, *beside(1, {}) + 0.2);
  EXPECT_EQ(inside, beside(2, {nullptr, &half}));
  Eigen::Affine3d between = identity;  // voxels, whose neighbours do not count
  between.translation() = grid.direction * (0.3 * grid.spacing);
  const auto shifted = [&](unsigned seed) {
    const std::vector<float> other = test::random_values(voxels.size(), seed, -9, 9);
    std::vector<float> moving = voxels;
    for (std::size_t i = 0; i < moving.size(); ++i)
      if (half[i] == 0) moving[i] = other[i];
    return similarities(cpu, image, {cpu, grid, moving}, between, nullptr, {nullptr, &half}).affine;
  };
  EXPECT_EQ(shifted(1), shifted(2));
}

TEST_F(Pictured, SimilarityOfALargeImageIsThatOfItsVoxelsFarApart) {
  Geometry fine = test::oblique_geometry({110, 112, 114}, {0.5, 0.5, 0.5}), every = fine;
  every.extent = {55, 56, 57};  // every second, and all of those are looked at
  every.spacing *= 2;
  const auto of = [&](const Geometry& g) {
    return test::sample_world(cpu, g, [](const Eigen::Vector3d& p) {
      return std::sin(0.9 * p.x()) * std::sin(1.1 * p.y()) + std::sin(0.7 * p.z());
    });
  };
  const Similarities all = similarities(cpu, of(fine), image, identity, nullptr, {}),
                     some = similarities(cpu, of(every), image, identity, nullptr, {});
  ASSERT_TRUE(all.before && some.before);
  EXPECT_NEAR(*all.before, *some.before, 1e-6);
}

TEST_F(Pictured, OfAMaskWhatIsAboveAHalfCounts) {
  std::vector<float> faint(image.extent().count());
  for (std::size_t i = 0; i < faint.size(); ++i) faint[i] = i % 24 < 12 ? 1 : 0.4F;
  std::vector<float> plain = faint;
  for (float& v : plain) v = std::floor(v);
  const auto of = [&](const MasksOnHost& masks) {
    return similarities(cpu, image, image, identity, nullptr, masks).before;
  };
  EXPECT_EQ(of({&faint, nullptr}), of({&plain, nullptr}));
  EXPECT_EQ(of({nullptr, &faint}), of({nullptr, &plain}));
  EXPECT_NE(of({&plain, nullptr}), of({}));
}

TEST(VerdictOf, LengthsHaveTheDigitsThatSmallVoxelsNeed) {
  nlohmann::ordered_json r = {
      {"fixed", {{"size", {100, 100, 100}}, {"spacing_mm", {0.02, 0.01, 0.04}}}},
      {"displacement_mm", {{"mean", 0.0114}, {"p99", 0.0236}, {"max", 0.0291}}}};
  EXPECT_EQ(verdict_of(r).findings.at(0).text,
            "Beyond the affine points move by 0.0114 mm on average, 0.0236 mm for 99 %, 0.0291 mm "
            "at most.");
  EXPECT_NE(closing_words("ffdreg", r, {}).find(" 0.011 mm on average and 0.029 at most\n"),
            std::string::npos);
  r["fixed"]["spacing_mm"] = {0.9, 0.9, 2};
  EXPECT_NE(verdict_of(r).findings.at(0).text.find("0.01 mm on average"), std::string::npos);
  for (const auto& [voxel, digits] :
       {std::pair{1.0, 2}, {0.2, 2}, {0.15, 3}, {0.02, 3}, {0.01, 4}, {0.0, 2}, {-1.0, 2}})
    EXPECT_EQ(length_digits(voxel, 2), digits) << voxel;
  EXPECT_EQ(length_digits(INFINITY, 2), 2);
  EXPECT_EQ(length_digits(NAN, 2), 2);
}

TEST(VerdictOf, FollowsTheFigures) {
  const auto judged = [](const char* pointer, double value) {
    nlohmann::ordered_json r = {
        {"fixed", {{"size", {100, 100, 100}}, {"spacing_mm", {1, 1, 1}}}},
        {"overlap_fraction", {{"before", 0.9}, {"after", 0.95}}},
        {"similarity", {{"before", 1.1}, {"after", 1.3}}},
        {"jacobian", {{"folded_voxels", 0}, {"min", 0.3}, {"max", 2.5}, {"sd_log", 0.3}}},
        {"inverse_residual_voxels", {{"mean", 0.02}, {"max", 2}}},
        {"displacement_mm", {{"mean", 3}, {"p99", 9}, {"max", 14}}}};
    r[nlohmann::ordered_json::json_pointer(pointer)] = value;
    return verdict_of(r);
  };
  EXPECT_EQ(judged("/x", 0).grade, Grade::good);
  EXPECT_EQ(judged("/x", 0).findings.size(), 6U);
  EXPECT_EQ(judged("/jacobian/folded_voxels", 1).grade, Grade::bad);
  EXPECT_EQ(judged("/overlap_fraction/after", 0.4).grade, Grade::bad);
  EXPECT_EQ(judged("/overlap_fraction/after", 0.7).grade, Grade::look);
  EXPECT_EQ(judged("/similarity/after", 1.09).grade, Grade::bad);
  EXPECT_EQ(judged("/similarity/after", 1.094).grade, Grade::bad);
  EXPECT_EQ(judged("/similarity/after", 1.096).grade, Grade::look) << "an image with itself";
  EXPECT_EQ(judged("/similarity/after", 1.1001).grade, Grade::look);
  EXPECT_EQ(judged("/jacobian/sd_log", 0.6).grade, Grade::look);
  EXPECT_EQ(judged("/jacobian/max", 50).grade, Grade::good);
  EXPECT_EQ(judged("/jacobian/max", 367).grade, Grade::look);
  EXPECT_EQ(judged("/jacobian/min", 0.009).grade, Grade::look);
  EXPECT_EQ(judged("/inverse_residual_voxels/mean", 0.2).grade, Grade::look);
  EXPECT_EQ(judged("/displacement_mm/max", 30).grade, Grade::look);
  EXPECT_EQ(judged("/displacement_mm/max", 0.001).grade, Grade::look);
  EXPECT_EQ(verdict_of({{"warnings", {"one"}}}).grade, Grade::look);
  EXPECT_EQ(verdict_of(nlohmann::ordered_json::array()).findings.size(), 0U);
}

TEST(VerdictOf, AMovingMaskIsNoLackOfOverlap) {
  nlohmann::ordered_json r = {
      {"fixed", {{"size", {100, 100, 100}}, {"spacing_mm", {2, 2, 2}}}},
      {"moving", {{"size", {128, 128, 128}}, {"spacing_mm", {2, 2, 4}}}},
      {"overlap_fraction", {{"before", 0.2}, {"after", 0.24}}},
      {"linear", {{"fixed_to_moving_lps", {{1, 0, 0, 5}, {0, 0, -2, 6}, {0, 1, 0, 7}}}}}};
  EXPECT_EQ(verdict_of(r).grade, Grade::bad) << "no mask: the images hardly meet";
  r["moving"]["size"] = {64, 64, 64};  // 4.2 l: the affine's 16 l are no smaller field of view
  EXPECT_EQ(verdict_of(r).grade, Grade::bad);
  r["overlap_fraction"]["after"] = 0.5;
  EXPECT_EQ(verdict_of(r).grade, Grade::good) << "of the fixed 8 l";
  r["moving"]["size"] = {128, 128, 128};
  r["overlap_fraction"]["after"] = 0.24;
  r["moving"]["voxels_in_mask"] = 250000;  // 4 l of 16 l that the affine makes of the fixed 8
  EXPECT_EQ(verdict_of(r).grade, Grade::good);
  EXPECT_EQ(verdict_of(r).findings.at(0).text,
            "24 % of the fixed image's voxels fall on the moving image, where its mask has room "
            "for 25 %, 20 % before.");
  r["moving"].erase("voxels_in_mask");
  r["moving"]["voxels_measured"] = 250000;
  EXPECT_EQ(verdict_of(r).findings.at(0).text,
            "24 % of the fixed image's voxels fall on the moving image, which has room for 25 %, "
            "20 % before.");
  r["overlap_fraction"] = {{"before", 0.1}, {"after", 0.15}};
  EXPECT_EQ(verdict_of(r).grade, Grade::look);
  r["overlap_fraction"] = {{"before", 0.1}, {"after", 0.1}};
  EXPECT_EQ(verdict_of(r).grade, Grade::bad);
  r["fixed"]["voxels_in_mask"] = 200000;  // less than the moving mask has room for
  r["overlap_fraction"]["after"] = 0.7;
  EXPECT_EQ(verdict_of(r).grade, Grade::look);
}

}  // namespace report_pictures_test
}  // namespace freeflow
