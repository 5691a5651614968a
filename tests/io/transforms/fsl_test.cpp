// FSL's frame, fields and coefficients against their written definition: files are made here byte
// by byte, and points mapped by hand.
#include <freeflow/io/image_file.h>

#include "transform_test_support.h"

namespace freeflow::test {
namespace {

TEST(Fsl, CountsXFromTheRight) {
  const TemporaryFolder folder;
  write_bytes(folder / "f.mat", "1 0 0 5\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");  // moving + 5 mm = fixed
  // Both right-handed (RAS): FSL's x runs from the last voxel, so it is 5 mm the other way.
  const Geometry right = grid_of_rows(2), left = grid_of_rows(-2);
  const Eigen::Vector3d p = right.index_to_world() * Eigen::Vector3d(3, 2, 1);
  expect_maps(read_transform_file(folder / "f.mat", {}, {right, right, {}}), p,
              right.index_to_world() * Eigen::Vector3d(3 + 2.5, 2, 1));
  const Eigen::Vector3d q = left.index_to_world() * Eigen::Vector3d(3, 2, 1);
  expect_maps(read_transform_file(folder / "f.mat", {}, {left, left, {}}), q,
              left.index_to_world() * Eigen::Vector3d(3 - 2.5, 2, 1));
  // From one into the other: index 3 of 6 from the right is 2 from the left.
  expect_maps(read_transform_file(folder / "f.mat", {}, {right, left, {}}), p,
              left.index_to_world() * Eigen::Vector3d(2 - 2.5, 2, 1));
  for (const TransformContext& lacking : {TransformContext{right, {}, {}}, {{}, right, {}}}) try {
      read_transform_file(folder / "f.mat", TransformFormat::fsl, lacking);
      ADD_FAILURE() << "no error";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find("TransformContext::"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("f.mat"), std::string::npos);
    }
}

// newimage's left_right_order(): without a form x counts from the first voxel.
TEST(Fsl, TakesWhatDeclaresNoOrientationToBeginOnTheRight) {
  const TemporaryFolder folder;
  write_bytes(folder / "f.mat", "1 0 0 5\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
  write_bytes(folder / "bare.nii", nifti_header({6, 5, 4}, 2, 8) + std::string(120, '\1'));
  const Geometry bare = read_geometry(folder / "bare.nii");
  const Eigen::Vector3d p = bare.index_to_world() * Eigen::Vector3d(3, 2, 1);
  expect_maps(read_transform_file(folder / "f.mat", {}, {bare, bare, {}}), p,
              bare.index_to_world() * Eigen::Vector3d(3 - 5, 2, 1));
  write_image(folder / "made.nii", bare, std::vector<float>(120, 1));
  EXPECT_EQ(read_geometry(folder / "made.nii").space_code, 1) << "what is written declares one";
}

/// A warp between such images has no form either, and its x counts as theirs.
TEST(Fsl, FieldsOfImagesWithoutOrientationAreNotMirrored) {
  const TemporaryFolder folder;
  write_bytes(folder / "bare.nii", nifti_header({6, 5, 4}, 2, 8) + std::string(120, '\1'));
  const Geometry bare = read_geometry(folder / "bare.nii");
  const Eigen::Vector3d p = bare.index_to_world() * Eigen::Vector3d(3, 2, 1);
  Vectors still{small, 4, 2006, "", {}, 2};
  std::string bytes = vector_file(still);
  put_at<std::int16_t>(bytes, 254, 0);
  write_bytes(folder / "still.nii", bytes + std::string(12 * small.count(), '\0'));
  expect_maps(read_transform_file(folder / "still.nii", {}, {bare, bare, {}}), p, p);
  // Written and read again; also from a field whose file had to declare an orientation.
  Geometry declared = bare;
  declared.space_code = 1;
  for (const Geometry& grid : {bare, declared}) {
    const HostTransform made = chain_of({some_field(grid)});
    write_transform_file(folder / "made.nii", TransformFormat::fsl, made, {bare, bare, {}});
    const HostTransform read = read_transform_file(folder / "made.nii", {}, {bare, bare, {}});
    EXPECT_LT(largest_difference(made, read, bare), 1e-4) << grid.space_code;
    EXPECT_EQ(read_geometry(folder / "bare.nii").space_code, 0);
  }
}

TEST(Fsl, AMatrixThatMayBeGreedysIsDoubted) {
  const TemporaryFolder folder;
  const TransformContext context{grid_of_rows(2), grid_of_rows(2), {}};
  const auto warnings = [&](const std::string& text) {
    write_bytes(folder / "f.mat", text);
    return read_transform_file(folder / "f.mat", {}, context).warnings;
  };
  const auto greedys = warnings("1 0 0 5 \n0 1 0 0 \n0 0 1 0 \n0 0 0 1 \n");
  ASSERT_EQ(greedys.size(), 1u);
  EXPECT_NE(greedys[0].find("--from niftyreg"), std::string::npos) << greedys[0];
  EXPECT_TRUE(warnings("1  0  0  5  \n0  1  0  0  \n0  0  1  0  \n0  0  0  1  \n").empty());
  write_transform_file(folder / "f.mat", TransformFormat::fsl, chain_of({some_affine()}), context);
  EXPECT_TRUE(read_transform_file(folder / "f.mat", {}, context).warnings.empty());
}

/// The lattice of FNIRT for `extent` with knots 2, 3, 1 voxels apart, each coefficient different.
struct Coefficients {
  std::array<int, 3> knots{2, 3, 1};
  Extent lattice{7, 5, 4};
  std::vector<float> planes = random_values(3 * 7 * 5 * 4, -3, 3);

  std::string file(int intent, const Geometry& fixed) const {
    Vectors v{lattice, 4, intent, "", {}, 2};
    for (std::size_t i = 0; i < 3; ++i) v.p[i] = float(fixed.spacing[Eigen::Index(i)]);
    std::string bytes = vector_file(v);
    put_at<std::int16_t>(bytes, 252, 1);
    const std::array<int, 3> sides{fixed.extent.x, fixed.extent.y, fixed.extent.z};
    for (std::size_t i = 0; i < 3; ++i) {
      put_at<float>(bytes, 80 + 4 * i, float(knots[i]));
      put_at<float>(bytes, 268 + 4 * i, float(sides[i]));
    }
    put_sform(bytes, 1, {1.25, 0, 0, 3, 0, 1, 0.5, 0, 0, 0, 1, 0});  // FLIRT's, moving to fixed
    return bytes + bytes_of_values(planes);
  }

  /// Sum over all coefficients, none left out for its distance; by the definition of the splines.
  Eigen::Vector3d at(const Eigen::Vector3d& voxel, int order) const {
    const auto spline = [order](double x) {
      x = std::abs(x);
      if (order == 2) return x < 0.5 ? 0.75 - x * x : x < 1.5 ? (1.5 - x) * (1.5 - x) / 2 : 0.;
      return x < 1 ? 2. / 3 - x * x + x * x * x / 2 : x < 2 ? std::pow(2 - x, 3) / 6 : 0.;
    };
    Eigen::Vector3d sum = Eigen::Vector3d::Zero();
    const std::size_t count = lattice.count();
    std::size_t c = 0;
    for (int k = 0; k < lattice.z; ++k)
      for (int j = 0; j < lattice.y; ++j)
        for (int i = 0; i < lattice.x; ++i, ++c) {
          const std::array<int, 3> index{i, j, k};
          double weight = 1;
          for (int axis = 0; axis < 3; ++axis) {
            const int knot = knots[std::size_t(axis)];
            const int first = knot == 1 ? 0 : 1;  // FSL's splines of spacing 1 begin at voxel 0
            weight *= spline((voxel[axis] - (index[std::size_t(axis)] - first) * knot) / knot);
          }
          sum += weight * Eigen::Vector3d(planes[c], planes[count + c], planes[2 * count + c]);
        }
    return sum;
  }
};

TEST(Fsl, CoefficientsAreSplinesInFslsOrderOfX) {
  const TemporaryFolder folder;
  const Coefficients coefficients;
  const std::string path = folder / "warp_coef.nii";
  for (const int order : {2, 3})
    for (const float x : {2.f, -2.f}) {
      SCOPED_TRACE(std::to_string(order) + (x > 0 ? " right-handed" : " left-handed"));
      const Geometry fixed = grid_of_rows(x), moving = grid_of_rows(-2, {9, 8, 7});
      write_bytes(path, coefficients.file(order == 2 ? 2009 : 2007, fixed));
      const HostTransform transform = read_transform_file(path, {}, {fixed, moving, {}});
      for (const Eigen::Vector3d& voxel :
           {Eigen::Vector3d(1, 2, 3), Eigen::Vector3d(0, 0, 0), Eigen::Vector3d(5, 4, 2)}) {
        const Eigen::Vector3d in_fsl(x > 0 ? 5 - voxel.x() : voxel.x(), voxel.y(), voxel.z());
        const Eigen::Vector3d mm = in_fsl.cwiseProduct(fixed.spacing);
        const Eigen::Vector3d linear((mm.x() - 3) / 1.25, mm.y() - mm.z() / 2, mm.z());
        const Eigen::Vector3d scaled = linear + coefficients.at(in_fsl, order);
        expect_maps(transform, fixed.index_to_world() * voxel,
                    moving.index_to_world() * scaled.cwiseQuotient(moving.spacing));
      }
    }
  write_bytes(path, coefficients.file(2008, grid_of_rows(2)));
  expect_io_error([&] { read_transform_file(path); }, {"warp_coef.nii", "DCT", "fnirtfileutils"});
  write_bytes(path, coefficients.file(2007, grid_of_rows(2)));
  try {
    read_transform_file(path, {}, {moving_grid(), moving_grid(), {}});
    ADD_FAILURE() << "no error";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("6 x 5 x 4 voxels of 2 x 3 x 4 mm"), std::string::npos)
        << error.what();
  }
}

TEST(Fsl, WhatAFieldHoldsIsMeasuredAndSaid) {
  const TemporaryFolder folder;
  const Geometry grid = grid_of_rows(-2, {12, 11, 10});
  const std::string path = folder / "warp.nii";
  const Eigen::Vector3d d(0.5, -1, 2);
  for (const bool absolute : {false, true}) {
    write_bytes(path,
                vector_file({grid.extent, 4, 2006, "", {}, -2}) +
                    bytes_of_values(planes_of(grid.extent, [&](int x, int y, int z) {
                      return Eigen::Vector3d(d + absolute * Eigen::Vector3d(2 * x, 3 * y, 4 * z));
                    })));
    const HostTransform transform = read_transform_file(path, {}, {{}, grid, {}});
    expect_maps(transform, grid.index_to_world() * Eigen::Vector3d(3, 4, 5),
                grid.index_to_world() * Eigen::Vector3d(3.25, 4 - 1. / 3, 5.5));
    ASSERT_EQ(transform.warnings.size(), 1u);
    EXPECT_NE(
        transform.warnings[0].find(absolute ? "positions (absolute)" : "displacements (relative)"),
        std::string::npos);
    const VectorMeaning wrong = absolute ? VectorMeaning::displacements : VectorMeaning::positions;
    expect_io_error(
        [&] {
          read_transform_file(path, {}, {{}, grid, wrong});
        },
        {"warp.nii", "TransformContext::vectors"});
  }
}

}  // namespace
}  // namespace freeflow::test
