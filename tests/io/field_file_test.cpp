// Displacement fields: the bytes that ITK and ANTs expect, round trips and refusals.
#include <freeflow/io/field_file.h>

#include <cmath>
#include <limits>

#include <freeflow/io/image_file.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

constexpr Extent odd_extent{13, 7, 5};

TEST(FieldFile, NiftiBytesAreThoseOfItk) {
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid(odd_extent);
  const std::size_t count = odd_extent.count();
  const std::vector<float> planes = random_values(3 * count, -4, 4);
  write_displacement(folder / "field.nii", grid, planes);
  const std::string bytes = read_bytes(folder / "field.nii");
  ASSERT_EQ(bytes.size(), 352 + 12 * count);
  const std::array<std::int16_t, 6> expected{5, 13, 7, 5, 1, 3};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(value_at<std::int16_t>(bytes, 40 + 2 * i), expected[i]) << i;
  EXPECT_EQ(value_at<std::int16_t>(bytes, 68), 1007) << "intent vector";
  EXPECT_EQ(value_at<std::int16_t>(bytes, 70), 16) << "float32";
  EXPECT_EQ(bytes[123] & 7, 2) << "millimetres";
  // The components lie apart, x fastest, in LPS millimetres.
  for (const std::size_t voxel : {std::size_t(0), std::size_t(17), count - 1}) {
    const Eigen::Vector3d u(planes[voxel], planes[count + voxel], planes[2 * count + voxel]);
    const Eigen::Vector3d world = grid.direction * grid.spacing.cwiseProduct(u);
    for (std::size_t component = 0; component < 3; ++component)
      EXPECT_NEAR(value_at<float>(bytes, 352 + 4 * (component * count + voxel)),
                  world[Eigen::Index(component)], 1e-5);
  }
}

TEST(FieldFile, ALargePlainFileHoldsTheBytesOfACompressedOne) {
  const TemporaryFolder folder;
  const Extent extent{129, 121, 65};  // 12 MB, made in several batches, the last of them a part
  const Geometry grid = oblique_grid(extent);
  const std::vector<float> planes = random_values(3 * extent.count(), -4, 4);
  for (const int threads : {1, 3})
    write_displacement(folder / ("field" + std::to_string(threads) + ".nii"), grid, planes,
                       Compression(threads));
  write_displacement(folder / "field.nii.gz", grid, planes);
  const std::string bytes = read_bytes(folder / "field1.nii");
  ASSERT_EQ(bytes.size(), 352 + 12 * extent.count());
  EXPECT_EQ(bytes, read_bytes(folder / "field3.nii"));
  EXPECT_EQ(read_displacement(folder / "field1.nii").planes,
            read_displacement(folder / "field.nii.gz").planes);
}

class FieldFormats : public testing::TestWithParam<const char*> {};

TEST_P(FieldFormats, RoundTrip) {
  const TemporaryFolder folder;
  const std::string path = folder / (std::string("field") + GetParam());
  const Geometry grid = oblique_grid(odd_extent);
  const std::vector<float> planes = random_values(3 * odd_extent.count(), -4, 4);
  write_displacement(path, grid, planes);
  const HostField field = read_displacement(path);
  expect_same_place(field.geometry, grid);
  EXPECT_TRUE(field.warnings.empty());
  ASSERT_EQ(field.planes.size(), planes.size());
  for (std::size_t i = 0; i < planes.size(); ++i)
    ASSERT_NEAR(field.planes[i], planes[i], 5e-6) << i;
}

INSTANTIATE_TEST_SUITE_P(Io, FieldFormats, testing::Values(".nii", ".nii.gz", ".mha", ".nrrd"),
                         [](const auto& info) {
                           return std::string("Format") + std::to_string(info.index);
                         });

TEST(FieldFile, FromAndToADevice) {
  const TemporaryFolder folder;
  Context ctx(Device{}, 1);
  const Geometry grid = oblique_grid({3, 4, 5});
  const std::vector<float> planes = random_values(180, -1, 1);
  write_displacement(ctx, folder / "field.nii.gz", DisplacementField(ctx, grid, planes));
  const std::vector<float> read = read_displacement(ctx, folder / "field.nii.gz").to_host(ctx);
  for (std::size_t i = 0; i < planes.size(); ++i) EXPECT_NEAR(read[i], planes[i], 1e-6);
}

TEST(FieldFile, RefusesWhatIsNoField) {
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid({4, 4, 4});
  const auto refused = [&](const std::string& name, const std::vector<std::string>& parts) {
    expect_io_error([&] { read_displacement(folder / name); }, parts);
  };
  for (const std::string name : {"image.nii", "image.mha"}) {
    write_image(folder / name, grid, std::vector<float>(64, 1.f));
    refused(name, {name, "not a displacement field"});
  }
  write_bytes(folder / "plain.nii", nifti_header({2, 2, 2, 1, 3}, 16, 32) + std::string(96, 'a'));
  refused("plain.nii", {"intent 1007"});

  std::vector<float> planes(192, 0.5f);
  write_displacement(folder / "cut.nii.gz", grid, random_values(192, -1, 1));
  write_bytes(folder / "cut.nii.gz", read_bytes(folder / "cut.nii.gz").substr(0, 500));
  refused("cut.nii.gz", {"file ends after"});
  planes[70] = std::numeric_limits<float>::quiet_NaN();
  for (const std::string name : {"nan.nii", "nan.nrrd"}) {
    write_displacement(folder / name, grid, planes);
    refused(name, {"not finite"});
  }
  write_displacement(folder / "niftyreg.nii", grid, std::vector<float>(192));
  std::string bytes = read_bytes(folder / "niftyreg.nii");
  std::memcpy(bytes.data() + 328, "NREG_TRANS", 10);
  write_bytes(folder / "niftyreg.nii", bytes);
  refused("niftyreg.nii", {"NiftyReg"});
  refused("missing.nii.gz", {"no such file"});
  EXPECT_THROW(write_displacement(folder / "short.nii", grid, std::vector<float>(3)),
               InvalidArgument);
}

/// Planes of map(p) - p, or of map(p) in RAS, as ITK's and SPM's fields have them, in voxels.
std::vector<float> planes_of(const Geometry& grid, const Eigen::Affine3d& map, bool positions) {
  const std::size_t count = grid.extent.count();
  std::vector<float> planes(3 * count);
  std::size_t voxel = 0;
  for (int z = 0; z < grid.extent.z; ++z)
    for (int y = 0; y < grid.extent.y; ++y)
      for (int x = 0; x < grid.extent.x; ++x, ++voxel) {
        const Eigen::Vector3d p = grid.index_to_world() * Eigen::Vector3d(x, y, z);
        const Eigen::Vector3d there = map * p;
        const Eigen::Vector3d vector = positions
                                           ? Eigen::Vector3d(-there.x(), -there.y(), there.z())
                                           : Eigen::Vector3d(there - p);
        const Eigen::Vector3d voxels = grid.world_to_index().linear() * vector;
        for (std::size_t c = 0; c < 3; ++c)
          planes[c * count + voxel] = float(voxels[Eigen::Index(c)]);
      }
  return planes;
}

TEST(FieldFile, PositionsAreRefusedAndLargeDisplacementsAreNot) {
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid({20, 18, 9});
  Eigen::Affine3d map = Eigen::Affine3d::Identity();
  map.translation() = Eigen::Vector3d(4, -3, 2);
  for (const std::string name : {"y_t1.nii", "y_t1.mha"}) {
    write_displacement(folder / name, grid, planes_of(grid, map, true));
    expect_io_error([&] { read_displacement(folder / name); }, {name, "positions, as SPM"});
  }
  // Named as SPM names them they need no look at the numbers.
  write_displacement(folder / "named.nii", grid, std::vector<float>(3 * grid.extent.count()));
  std::string bytes = read_bytes(folder / "named.nii");
  std::memcpy(bytes.data() + 328, "Mapping", 7);
  write_bytes(folder / "named.nii", bytes);
  expect_io_error([&] { read_displacement(folder / "named.nii"); }, {"named.nii", "Mapping"});

  std::vector<Eigen::Affine3d> large{map};
  large[0].translation() *= 200;
  for (const double scale : {0.1, 3.0}) large.emplace_back(Eigen::Scaling(scale));
  for (const double angle : {1.5, 3.1})
    for (int axis = 0; axis < 3; ++axis)
      large.emplace_back(Eigen::AngleAxisd(angle, Eigen::Vector3d::Unit(axis)));
  for (const Eigen::Affine3d& one : large) {
    write_displacement(folder / "large.nii", grid, planes_of(grid, one, false));
    EXPECT_NO_THROW(read_displacement(folder / "large.nii")) << one.matrix();
  }
}

}  // namespace
}  // namespace freeflow::test
