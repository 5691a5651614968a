// ITK's B-spline transforms: written from a lattice, and evaluated where a file has one.
#include <unistd.h>

#include <fstream>

#include <freeflow/deform/control_point_grid.h>
#include <freeflow/io/spline_file.h>
#include <freeflow/io/transform_file.h>

#include "transform_test_support.h"

namespace freeflow::test {
namespace {

TransformContext on(const Geometry& fixed) { return {fixed, {}, {}}; }

/// A file of one B-spline on `grid`, all coefficients `value`.
void write_text(const std::string& path, const Geometry& grid, double value,
                const std::string& before = "") {
  std::ofstream out(path);
  out << "#Insight Transform File V1.0\n"
      << before << "#Transform 1\nTransform: BSplineTransform_double_3_3\nParameters:";
  for (std::size_t i = 0; i < 3 * grid.extent.count(); ++i) out << ' ' << value;
  out << "\nFixedParameters: " << grid.extent.x << ' ' << grid.extent.y << ' ' << grid.extent.z;
  for (const double v : {grid.origin.x(), grid.origin.y(), grid.origin.z(), grid.spacing.x(),
                         grid.spacing.y(), grid.spacing.z()})
    out << ' ' << v;
  out << " 1 0 0 0 1 0 0 0 1\n";
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(SplineFile, GivesTheLatticesFieldAtTheVoxels) {
  const TemporaryFolder folder;
  Context ctx;
  for (const auto& [name, grid] : six_geometries()) {
    SCOPED_TRACE(name);
    // Two voxels a knot: the lattice ends at the last voxel's centre along odd sides.
    ControlPointGrid lattice(ctx, grid, 2 * grid.spacing, Eigen::Vector3d::Zero());
    lattice.coefficients() = Buffer<float>(ctx, random_values(3 * lattice.extent().count(), -2, 2));
    DisplacementField u(ctx, grid);
    SplineSampler(ctx, lattice, grid).evaluate(ctx, lattice.view(), u.view());
    write_spline(folder / "a.h5", to_host(ctx, lattice));
    const HostTransform read = read_transform_file(folder / "a.h5", TransformFormat::itk, on(grid));
    ASSERT_EQ(read.steps.size(), 1u);
    const std::vector<float> expected = u.to_host(ctx),
                             &found = std::get<HostField>(read.steps[0]).planes;
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
  }
}

TEST(SplineFile, HasTheSameBytesWheneverItIsWritten) {
  const TemporaryFolder folder;
  Context ctx;
  const ControlPointGrid lattice(ctx, moving_grid(), {3, 3, 3}, Eigen::Vector3d::Zero());
  write_spline(folder / "a.h5", to_host(ctx, lattice));
  sleep(1);  // HDF5 counts times in seconds
  write_spline(folder / "b.h5", to_host(ctx, lattice));
  EXPECT_TRUE(bytes_of(folder / "a.h5") == bytes_of(folder / "b.h5"));
}

TEST(SplineFile, DisplacesNothingOutsideItsDomain) {
  const TemporaryFolder folder;
  const Geometry lattice{{5, 4, 6}, {2, 2, 2}, {1, 1, 1}};
  write_text(folder / "a.tfm", lattice, 1);  // the domain: 3 to 7, 3 to 5 and 3 to 9 mm
  const Geometry fixed{{12, 8, 12}};
  const HostTransform read = read_transform_file(folder / "a.tfm", TransformFormat::itk, on(fixed));
  const std::vector<float>& u = std::get<HostField>(read.steps[0]).planes;
  for (int z = 0; z < 12; ++z)
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 12; ++x) {
        const bool inside = x >= 3 && x <= 7 && y >= 3 && y <= 5 && z >= 3 && z <= 9;
        ASSERT_NEAR(u[fixed.extent.offset(x, y, z)], inside ? 1 : 0, 1e-6) << x << y << z;
      }
}

TEST(SplineFile, WhatCannotBeEvaluatedIsRefused) {
  const TemporaryFolder folder;
  const Geometry lattice{{5, 4, 6}, {2, 2, 2}, {1, 1, 1}};
  write_text(folder / "a.tfm", lattice, 1);
  EXPECT_THROW(read_transform_file(folder / "a.tfm", TransformFormat::itk), InvalidArgument);
  expect_io_error([&] { read_affine(folder / "a.tfm"); }, {"a.tfm", "linear 3-D transform"});
  // Of a composite the last is applied first.
  const std::string composite = "#Transform 0\nTransform: CompositeTransform_double_3_3\n",
                    shift =
                        "Transform: TranslationTransform_double_3_3\nParameters: 1 2 3\n"
                        "FixedParameters: \n";
  write_text(folder / "b.tfm", lattice, 1, composite + shift);
  EXPECT_EQ(
      read_transform_file(folder / "b.tfm", TransformFormat::itk, on(moving_grid())).steps.size(),
      2u);
  write_text(folder / "c.tfm", lattice, 1, composite);
  std::ofstream(folder / "c.tfm", std::ios::app) << shift;
  expect_io_error(
      [&] { read_transform_file(folder / "c.tfm", TransformFormat::itk, on(moving_grid())); },
      {"c.tfm", "applied first", "TransformToDisplacementField"});
}

}  // namespace
}  // namespace freeflow::test
