// The parts of a template against closed forms and slow ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <atlas/known_group.h>
#include <freeflow/atlas/content_key.h>
#include <freeflow/atlas/frame.h>
#include <freeflow/atlas/packed_field.h>
#include <freeflow/atlas/ranked_mean.h>
#include <support/devices.h>

using namespace freeflow;
using namespace freeflow::test;

TEST(RankedMean, IsTheTrimmedMeanAndTheMedianOfEveryVoxel) {
  constexpr int images = 7, voxels = 50;
  constexpr float low = -2, high = 5;
  for (const double share : {0.0, 0.15, 0.3, 1.0}) {
    RankedMean ranked(voxels, low, high, share);
    std::vector<std::vector<float>> all;
    for (int i = 0; i < images; ++i) {
      all.push_back(random_values(voxels, 10u + unsigned(i), low, high));
      for (int v = 0; v < voxels; ++v) {
        if (v % 3 == 0)
          all.back()[std::size_t(v)] = std::round(all.back()[std::size_t(v)]);  // ties
        if ((v + i) % 5 == 0 || v == 7) all.back()[std::size_t(v)] = NAN;
      }
      ranked.add(all.back());
    }
    Ranks one;
    const std::vector<float> mean = ranked.mean(one, 2);
    for (std::size_t v = 0; v < voxels; ++v) {
      std::vector<double> there;
      for (const auto& image : all)
        if (std::isfinite(image[v])) there.push_back(image[v]);
      if (there.empty()) {
        EXPECT_TRUE(std::isnan(mean[v]));
        continue;
      }
      std::ranges::sort(there);
      const int n = int(there.size()), out = std::min((n - 1) / 2, int(share * n));
      double sum = 0;
      for (int i = out; i < n - out; ++i) sum += there[std::size_t(i)];
      EXPECT_NEAR(mean[v], sum / (n - 2 * out), 1e-4) << v << ' ' << share;
    }
  }
}

class PackedFields : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(PackedFields);

TEST_P(PackedFields, ComeBackToHalfAUnit) {
  const Geometry g = oblique_geometry({9, 7, 5});
  for (const double amplitude : {1.0, 100.0}) {
    const std::vector<float> planes =
        field_planes(g.extent, [&](int x, int y, int z) { return wave(x, y, z, amplitude); });
    const PackedField packed = pack(ctx, DisplacementField(ctx, g, planes));
    EXPECT_EQ(packed.unit, amplitude > 1 ? 1 / 256.f : 1 / 1024.f);
    const DisplacementField back = unpack(ctx, packed);
    const std::vector<float> found = back.to_host(ctx);
    for (std::size_t i = 0; i < planes.size(); ++i)
      EXPECT_LE(std::abs(found[i] - planes[i]), packed.unit / 2 * 1.001);
    EXPECT_EQ(pack(ctx, back).multiples, packed.multiples) << "once packed, no bit changes";
  }
}

TEST(ContentKeys, TellApartAndStayTheSame) {
  std::vector<unsigned char> bytes(100);
  const ContentKey zeros = content_key(std::span<const unsigned char>(bytes));
  std::vector<ContentKey> keys{zeros};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = (unsigned char)(1 << bit);
      keys.push_back(content_key(std::span<const unsigned char>(bytes)));
      bytes[i] = 0;
    }
  for (std::size_t n = 0; n < bytes.size(); ++n)
    keys.push_back(content_key(std::span<const unsigned char>(bytes.data(), n)));
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
  EXPECT_NE(derived_key("a", {zeros}), derived_key("b", {zeros}));
}

TEST(TrimmedLogMean, LeavesOutWhoIsFarAndTakesOutWhatIsCommon) {
  const Eigen::Affine3d common = Eigen::Translation3d(3, 1, -2) *
                                 Eigen::AngleAxisd(0.3, Eigen::Vector3d::UnitY()) *
                                 Eigen::Scaling(1.1);
  std::vector<Eigen::Affine3d> maps;
  for (const double angle : {-0.1, -0.05, 0.0, 0.05, 0.1})
    maps.push_back(common * Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitY()));
  maps.push_back(Eigen::Translation3d(80, 0, 0) * common);
  const TrimmedMean mean = trimmed_log_mean(maps, Eigen::Vector3d::Zero(), 80);
  EXPECT_EQ(mean.left_out, (std::vector<bool>{false, false, false, false, false, true}));
  EXPECT_LT(affine_distance_mm(mean.mean, common, Eigen::Vector3d::Zero(), 80), 0.05);
}
