// There and back through every format that is written, and what map_point promises.
#include "transform_test_support.h"

namespace freeflow::test {
namespace {

TEST(MapPoint, IsLinearBetweenVoxelsAndDisplacesNothingOutside) {
  const Geometry grid = six_geometries()[2].second;
  HostField field{grid, std::vector<float>(3 * grid.extent.count()), {}};
  const std::size_t count = grid.extent.count();
  const auto at = [&](int x, int y, int z) {
    return std::size_t((z * grid.extent.y + y) * grid.extent.x + x);
  };
  field.planes[at(3, 4, 5)] = 1;
  field.planes[count + at(4, 4, 5)] = 2;
  const HostTransform transform = chain_of({field});
  const Eigen::Affine3d to_world = grid.index_to_world();
  const Eigen::Vector3d index(3.25, 4.5, 5);
  const Eigen::Vector3d moved =
      to_world * Eigen::Vector3d(3.25 + 0.75 * 0.5, 4.5 + 0.25 * 0.5 * 2, 5);
  EXPECT_LT((map_point(transform, to_world * index) - moved).norm(), 1e-9);

  for (float& value : field.planes) value = 1;
  const HostTransform everywhere = chain_of({field});
  const double last = grid.extent.x - 1;
  for (const double x : {-0.49, last + 0.49})
    EXPECT_NEAR((map_point(everywhere, to_world * Eigen::Vector3d(x, 1, 1)) -
                 to_world * Eigen::Vector3d(x + 1, 2, 2))
                    .norm(),
                0, 1e-6);
  for (const double x : {-0.51, last + 0.51}) {
    const Eigen::Vector3d p = to_world * Eigen::Vector3d(x, 1, 1);
    EXPECT_EQ((map_point(everywhere, p) - p).norm(), 0);
  }
}

TEST(MapPoint, AppliesTheFirstStepFirst) {
  const Eigen::Affine3d move(Eigen::Translation3d(1, 2, 3)), scale(Eigen::Scaling(2.0));
  EXPECT_EQ(map_point(chain_of({move, scale}), {0, 0, 0}), Eigen::Vector3d(2, 4, 6));
  EXPECT_EQ(map_point({}, {4, 5, 6}), Eigen::Vector3d(4, 5, 6));
}

struct Written {
  TransformFormat format;
  const char* name;
};

TEST(TransformFiles, AffinesComeBack) {
  const TemporaryFolder folder;
  for (const auto& [name, grid] : six_geometries())
    for (const Written& file : {Written{TransformFormat::itk, "a.mat"},
                                {TransformFormat::itk, "a.tfm"},
                                {TransformFormat::itk, "a.txt"},
                                {TransformFormat::itk, "a.h5"},
                                {TransformFormat::fsl, "b.mat"},
                                {TransformFormat::niftyreg, "c.txt"},
                                {TransformFormat::afni, "d.aff12.1D"},
                                {TransformFormat::freesurfer, "e.lta"},
                                {TransformFormat::mrtrix, "f.txt"},
                                {TransformFormat::elastix, "g.txt"}}) {
      SCOPED_TRACE(name + " " + file.name);
      const TransformContext context{grid, moving_grid(), {}};
      write_transform_file(folder / file.name, file.format, chain_of({some_affine()}), context);
      const HostTransform back = read_transform_file(folder / file.name, file.format, context);
      ASSERT_EQ(back.steps.size(), 1u);
      const auto& affine = std::get<Eigen::Affine3d>(back.steps[0]);
      EXPECT_LT((affine.matrix() - some_affine().matrix()).norm() / some_affine().matrix().norm(),
                1e-6);
      EXPECT_LT((affine.matrix() - some_affine().matrix()).norm(), 1e-9);
    }
}

TEST(TransformFiles, FieldsComeBack) {
  const TemporaryFolder folder;
  for (const auto& [name, grid] : six_geometries())
    for (const Written& file : {Written{TransformFormat::itk, "a.nii.gz"},
                                {TransformFormat::itk, "a.mha"},
                                {TransformFormat::itk, "a.nrrd"},
                                {TransformFormat::itk, "a.h5"},
                                {TransformFormat::fsl, "b.nii.gz"},
                                {TransformFormat::niftyreg, "c.nii.gz"},
                                {TransformFormat::spm, "d.nii"},
                                {TransformFormat::afni, "e.nii.gz"},
                                {TransformFormat::mrtrix, "f.nii.gz"}}) {
      SCOPED_TRACE(name + " " + file.name);
      if (name == "oblique" && file.format == TransformFormat::afni) continue;  // refused
      for (const bool and_affine : {false, true}) {
        const TransformContext context{
            grid,
            file.format == TransformFormat::afni ? six_geometries()[3].second : moving_grid(),
            {}};
        HostTransform transform = chain_of({some_field(grid)});
        if (and_affine) transform.steps.emplace_back(some_affine());
        write_transform_file(folder / file.name, file.format, transform, context);
        const HostTransform back = read_transform_file(folder / file.name, file.format, context);
        // Positions and displacements of some 100 mm as float32.
        EXPECT_LT(largest_difference(transform, back, grid), 5e-5);
      }
    }
}

TEST(TransformFiles, HDF5KeepsTheBitsOfAField) {
  const TemporaryFolder folder;
  for (const auto& [name, grid] : six_geometries()) {
    SCOPED_TRACE(name);
    const HostField field = some_field(grid);
    const std::string path = folder / "chain.h5";
    write_transform_file(path, TransformFormat::itk,
                         chain_of({some_affine(), field, some_affine()}));
    const HostTransform back = read_transform_file(path);
    ASSERT_EQ(back.steps.size(), 3u);
    EXPECT_EQ(std::get<HostField>(back.steps[1]).planes, field.planes);
    expect_same_place(std::get<HostField>(back.steps[1]).geometry, grid, 1e-12);
    EXPECT_TRUE(std::get<Eigen::Affine3d>(back.steps[2]).isApprox(some_affine(), 1e-15));
  }
}

// HDF5 lists names in the order of their letters, 10 before 2.
TEST(TransformFiles, ACompositeOfManyPartsKeepsTheirOrder) {
  const TemporaryFolder folder;
  const Geometry grid = six_geometries()[2].second;
  HostTransform chain;
  for (int i = 0; i < 12; ++i) {
    Eigen::Affine3d part(turned({1, 1.0 + i, -1}, 3.0 * i));
    part.translation() = Eigen::Vector3d(i, -2, 0.5 * i);
    chain.steps.emplace_back(part);
    if (i < 11) chain.steps.emplace_back(some_field(grid));
  }
  write_transform_file(folder / "many.h5", TransformFormat::itk, chain);
  EXPECT_LT(largest_difference(read_transform_file(folder / "many.h5"), chain, grid), 1e-3);
}

TEST(TransformFiles, DisplacementsOnAGridOfMillimetresKeepTheirBits) {
  const TemporaryFolder folder;
  const Geometry grid = six_geometries()[0].second;
  const HostField field = some_field(grid);
  // FSL's frame is the image's own; for the others displacements are those of voxels.
  for (const Written& file : {Written{TransformFormat::itk, "a.nii.gz"},
                              {TransformFormat::fsl, "b.nii.gz"},
                              {TransformFormat::afni, "c.nii.gz"}}) {
    SCOPED_TRACE(file.name);
    const TransformContext context{grid, grid, {}};
    write_transform_file(folder / file.name, file.format, chain_of({field}), context);
    const HostTransform back = read_transform_file(folder / file.name, file.format, context);
    EXPECT_EQ(std::get<HostField>(back.steps[0]).planes, field.planes);
  }
}

TEST(TransformFiles, WhatAFileCannotHoldIsRefused) {
  const TemporaryFolder folder;
  const Geometry grid = six_geometries()[2].second;
  const HostField field = some_field(grid);
  const TransformContext context{grid, moving_grid(), {}};
  expect_io_error(
      [&] {
        write_transform_file(folder / "a.mat", TransformFormat::fsl, chain_of({field}), context);
      },
      {"a.mat", "holds a displacement field", ".nii.gz"});
  expect_io_error(
      [&] {
        write_transform_file(folder / "a.nii", TransformFormat::niftyreg,
                             chain_of({some_affine(), field}), context);
      },
      {"a.nii", "compose it"});
  expect_io_error(
      [&] {
        write_transform_file(folder / "a.nii", TransformFormat::afni, chain_of({field}), context);
      },
      {"a.nii", "oblique", "3dWarp"});
  expect_io_error(
      [&] {
        write_transform_file(folder / "a.m3z", TransformFormat::freesurfer,
                             chain_of({some_affine()}), context);
      },
      {"a.m3z", ".lta"});
  EXPECT_TRUE(folder.empty());
}

TEST(TransformFiles, AnAffineBecomesAFieldOnTheFixedGrid) {
  const TemporaryFolder folder;
  const Geometry grid = six_geometries()[5].second;
  const TransformContext context{grid, moving_grid(), {}};
  const std::string path = folder / "y_affine.nii";
  write_transform_file(path, TransformFormat::spm, chain_of({some_affine()}), context);
  EXPECT_LT(largest_difference(read_transform_file(path), chain_of({some_affine()}), grid), 5e-5);
  try {
    write_transform_file(path, TransformFormat::spm, chain_of({some_affine()}));
    ADD_FAILURE() << "no error";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("TransformContext::fixed"), std::string::npos);
  }
}

}  // namespace
}  // namespace freeflow::test
