// Chains and grids as the formats share them, and where files of others say how they lie.
#include <freeflow/io/transforms/afni.h>
#include <freeflow/io/transforms/chain.h>
#include <freeflow/io/transforms/vector_nifti.h>

#include "transform_test_support.h"

namespace freeflow::test {
namespace chain_test {

TEST(Chain, AffinesAfterAFieldAreAppliedInTheirOrder) {
  const Geometry grid = six_geometries()[2].second;
  const Eigen::Affine3d a = some_affine(), b(turned({0, 1, 1}, 70));
  const HostTransform chain = chain_of({some_field(grid), a, b});
  EXPECT_TRUE(grid_map("x.nii", chain, {}).after.isApprox(b * a, 1e-12));
  EXPECT_TRUE(affine_to_write("x.mat", chain_of({a, b})).isApprox(b * a, 1e-12));
  expect_io_error(
      [&] {
        grid_map("x.nii", chain_of({a, some_field(grid)}), {});
      },
      {"more than one field and what follows it"});
}

TEST(Chain, NumbersMayBeSetApartByCommas) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.mat";
  write_bytes(path, "1, 0,0 ,5 # a comment, and 3\n0 2 0 6\n# 9 9 9 9\n\n0,0,1,7\n");
  Eigen::Affine3d expected = Eigen::Affine3d::Identity();
  expected(1, 1) = 2;
  expected.translation() = Eigen::Vector3d(5, 6, 7);
  EXPECT_EQ(read_matrix_text(path).matrix(), expected.matrix());
}

/// The grid of a field whose sform is straight and whose qform is turned about the first voxel.
TEST(VectorGrid, SaysWhereTheFormsDifferAtTheFarEndAlone) {
  VectorNifti file;
  file.header.path = "x.nii";
  file.header.size = {20, 20, 20, 1, 3, 1, 1};
  file.header.sform_code = 4;
  file.header.qform_code = 2;
  file.header.voxel_size = {1, 1, 1};
  file.header.sform = Eigen::Translation3d(5, 6, 7) * Eigen::Affine3d::Identity();
  for (const auto& [degrees, said] : {std::pair(0.05, false), {1.0, true}}) {
    file.header.qform = file.header.sform * Eigen::Affine3d(turned({0, 0, 1}, degrees));
    std::vector<std::string> warnings;
    const Geometry grid = vector_grid(file, warnings);
    EXPECT_EQ(warnings.size(), said ? 1u : 0u) << degrees;
    EXPECT_EQ(grid.space_code, 4);
    EXPECT_EQ(grid.direction, Eigen::Matrix3d::Identity());
  }
  file.header.sform_code = 0;
  std::vector<std::string> warnings;
  EXPECT_EQ(vector_grid(file, warnings).space_code, 2);
}

/// AFNI takes an image for oblique above a hundredth of a degree.
TEST(Afni, TurnsWhatIsObliqueByATenthOfADegree) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.1D", "1 0 0 0 0 1 0 0 0 0 1 0\n");
  TransformContext context;
  context.fixed = context.moving =
      grid_of({9, 9, 9}, Eigen::Matrix3d::Identity(), {1, 1, 1}, {0, 0, 0});
  for (const auto& [degrees, turned_back] : {std::pair(0.005, false), {0.1, true}}) {
    context.fixed->direction = turned({0, 0, 1}, degrees);
    const HostTransform read = read_afni(folder / "x.1D", context);
    const Eigen::Vector3d far(100, 0, 0);
    const double angle = degrees * std::numbers::pi / 180;
    const Eigen::Vector3d to =
        turned_back ? Eigen::Vector3d(100 * std::cos(angle), -100 * std::sin(angle), 0) : far;
    expect_maps(read, far, to, 1e-9);
  }
}

}  // namespace chain_test
}  // namespace freeflow::test
