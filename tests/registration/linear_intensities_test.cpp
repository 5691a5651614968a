// Linear registration looks at structure: single voxels far beyond all others, and the units of
// intensities and lengths, change nothing.
#include <freeflow/registration/linear/linear.h>

#include <limits>

#include <freeflow/registration/levels/outliers.h>
#include <freeflow/similarity/intensity_range.h>

#include "support/devices.h"
#include "support/linear_phantom.h"
#include "support/linear_transform.h"

namespace freeflow {
namespace linear_intensities_test {

using namespace test;

class LinearIntensities : public OnDevice {
 protected:
  LinearResult registered(const LinearPhantom& p, const LinearOptions& options = {}) {
    return register_linear(ctx, Volume<float>(ctx, p.fixed, p.f), Volume<float>(ctx, p.moving, p.m),
                           options);
  }
};
FREEFLOW_ON_EVERY_DEVICE(LinearIntensities);

TEST_P(LinearIntensities, OneVoxelOutweighsNoHead) {
  const Eigen::Vector3d ones = Eigen::Vector3d::Ones();
  const LinearPhantom clean(transform({100, 40, -60}, {20, -10, 15}, ones), true, 1.3);
  for (const float value : {1e8f, -1e8f})
    for (const bool of_fixed : {true, false}) {
      LinearPhantom p = clean;
      std::vector<float>& voxels = of_fixed ? p.f : p.m;
      voxels[voxels.size() / 7] = value;
      LinearOptions o;
      o.model = LinearModel::rigid;
      EXPECT_LT(p.error(registered(p, o).affine), 0.5) << value << ' ' << of_fixed;
    }
}

TEST_P(LinearIntensities, PowersOfTwoOfBothImagesChangeNoBit) {
  const LinearPhantom p(transform({6, -4, 5}, {3, -2, 4}, {1.05, 0.97, 1.02}), true, 1.3);
  const Eigen::Affine3d found = registered(p).affine;
  for (const int power : {-42, 42}) {
    LinearPhantom scaled = p;
    for (float& v : scaled.f) v = std::ldexp(v, power);
    for (float& v : scaled.m) v = std::ldexp(v, power);
    EXPECT_EQ(registered(scaled).affine.matrix(), found.matrix()) << power;
  }
}

// As of a header in centimetres, which the start makes up for.
TEST_P(LinearIntensities, AStartMayScaleByTen) {
  const LinearPhantom p(transform({6, -4, 5}, {3, -2, 4}, {1.05, 0.97, 1.02}), true, 1.3);
  LinearPhantom small = p;
  small.moving.spacing *= 0.1;
  small.moving.origin *= 0.1;
  LinearOptions o;
  o.initial = Eigen::Affine3d(Eigen::Scaling(0.1));
  EXPECT_LT(p.error(Eigen::Scaling(10.) * registered(small, o).affine), 1)
      << "mm, of voxels of 2.5 to 3.6";
}

TEST_P(LinearIntensities, TheRobustRangeIsThatOfAllButAFewVoxels) {
  const Geometry grid = plain_geometry({40, 40, 40});
  for (const float outlier : {-1e12f, 1e15f, -1e30f, 1e30f}) {
    std::vector<float> voxels = random_values(grid.extent.count(), 3, 100, 933);
    voxels[777] = outlier;
    const IntensityRange range = robust_range(ctx, Volume<float>(ctx, grid, voxels), "the image");
    EXPECT_NEAR(range.low, 100, 5) << outlier;
    EXPECT_NEAR(range.high, 933, 5) << outlier;
  }
}

TEST(Outliers, AreCutToTheRangeOfTheOthers) {
  std::vector<float> voxels = random_values(10000, 3, 100, 200);
  voxels[5] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> ordinary = voxels;
  cut_outliers(voxels);
  for (std::size_t i = 6; i < voxels.size(); ++i) ASSERT_EQ(voxels[i], ordinary[i]);
  voxels[6] = 1e9f;
  voxels[7] = -1e9f;
  cut_outliers(voxels);
  EXPECT_NEAR(voxels[6], 200, 1);
  EXPECT_NEAR(voxels[7], 100, 1);
  for (std::size_t i = 8; i < voxels.size(); ++i) ASSERT_EQ(voxels[i], ordinary[i]);
  for (const float one : {-1e9f, 1e9f}) {
    std::vector<float> voxels_and_one = ordinary;
    voxels_and_one[7] = one;
    cut_outliers(voxels_and_one);
    EXPECT_NEAR(voxels_and_one[7], one < 0 ? 100 : 200, 1) << "at one end alone";
  }
  // Twenty mean deviations from the mean (of 25) and three ranges (of 100) beyond the others.
  for (const float some : {590.0f, -290.0f}) {
    std::vector<float> far = ordinary;
    far[7] = some;
    cut_outliers(far);
    EXPECT_EQ(far[7], some);
  }
  std::vector<float> sparse(10000, 0);
  sparse[3] = sparse[4] = 50;
  cut_outliers(sparse);
  EXPECT_EQ(sparse[3], 50) << "all that there is";
}

}  // namespace linear_intensities_test
}  // namespace freeflow
