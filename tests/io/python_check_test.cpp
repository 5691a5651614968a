// Do SimpleITK, nibabel and scipy read our files as we meant them? tests/io/check_with_python.py
// compares them with raw numbers.
#include <cstdlib>
#include <sstream>

#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

#include "io_test_support.h"
#include "support/python.h"

namespace freeflow::test {
namespace {

constexpr Extent extent{13, 7, 5};

/// Of the sources named, or where the test is run in their folder.
std::string script() {
  const char* source = std::getenv("FREEFLOW_SOURCE_DIR");
  return std::string(source ? source : ".") + "/tests/io/check_with_python.py";
}

/// The exit status of Python with these arguments.
int run_python(const std::vector<std::string>& arguments) {
  std::ostringstream command;
  command << '\'' << python() << '\'';
  for (const std::string& argument : arguments) command << " '" << argument << '\'';
  return std::system(command.str().c_str());
}

/// Plain text beside the files: what the script expects, without any image library.
void write_expected(const std::string& path, const Geometry& grid, const Eigen::Affine3d& affine) {
  std::ofstream out(path);
  out.precision(17);
  const Eigen::IOFormat flat(17, Eigen::DontAlignCols, " ", " ");
  out << extent.x << ' ' << extent.y << ' ' << extent.z << '\n'
      << grid.index_to_world().matrix().format(flat) << '\n';
  out << affine.matrix().format(flat) << '\n';
}

TEST(PythonCheck, OtherReadersSeeTheSameNumbers) {
  if (run_python({"-c", "import SimpleITK, nibabel, scipy"}) != 0)
    GTEST_SKIP()
        << "\nforeign readers: PythonCheck skipped, for want of SimpleITK, nibabel or scipy";
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid(extent);
  const std::vector<float> voxels = random_values(extent.count(), -100, 900);
  const std::vector<float> planes = random_values(3 * extent.count(), -4, 4);
  Eigen::Affine3d affine = Eigen::Translation3d(3, -4, 5) *
                           Eigen::AngleAxisd(0.3, Eigen::Vector3d(1, 2, 3).normalized());
  affine.linear() *= 1.1;
  for (const std::string extension : {".nii", ".nii.gz", ".mha", ".nrrd"}) {
    write_image(folder / ("image" + extension), grid, voxels);
    write_image(folder / ("short" + extension), grid, voxels, StoredType::int16);
    write_displacement(folder / ("field" + extension), grid, planes);
  }
  for (const std::string extension : {".mgz", ".mgh"}) {
    write_image(folder / ("image" + extension), grid, voxels);
    write_image(folder / ("short" + extension), grid, voxels, StoredType::int16);
  }
  write_affine(folder / "affine.mat", affine, grid.center());
  write_affine(folder / "affine.tfm", affine, grid.center());
  write_bytes(folder / "voxels.raw", bytes_of_values(voxels));
  write_bytes(folder / "planes.raw", bytes_of_values(planes));
  write_expected(folder / "expected.txt", grid, affine);
  ASSERT_EQ(run_python({script(), folder.path()}), 0);

  const HostImage theirs = read_image(folder / "nibabel.mgz");
  expect_same_place(theirs.geometry, grid);
  EXPECT_EQ(theirs.voxels, voxels);

  const FileTransform back = read_transform(folder / "composite.h5");
  EXPECT_LT((back.affine.matrix() - affine.matrix()).cwiseAbs().maxCoeff(), 1e-9);
  ASSERT_TRUE(back.displacement);
  EXPECT_LT((back.displacement->geometry.index_to_world().matrix() - grid.index_to_world().matrix())
                .cwiseAbs()
                .maxCoeff(),
            1e-5);
  for (std::size_t i = 0; i < planes.size(); ++i)
    ASSERT_NEAR(back.displacement->planes[i], planes[i], 1e-5) << i;
}

}  // namespace
}  // namespace freeflow::test
