// Files hold the same bytes and mean the same where the program that uses the library has chosen a
// locale with decimal commas.
#include <clocale>
#include <cstdlib>
#include <locale>

#include <freeflow/io/image_file.h>
#include <freeflow/io/mesh_file.h>

#include "transform_test_support.h"

namespace freeflow::test {
namespace {

/// Which of a program's numbers have commas while it lives.
enum class CommasIn { c_functions, streams_too };
class Commas {
 public:
  explicit Commas(CommasIn in) {
    if (in == CommasIn::streams_too)
      std::locale::global(std::locale(std::locale::classic(), new Numbers));
    std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
  }
  ~Commas() {
    std::setlocale(LC_NUMERIC, "C");
    std::locale::global(streams_);
  }
  Commas(const Commas&) = delete;

 private:
  struct Numbers : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale streams_;  // the global one at first
};

/// Has the German locale made where the system has none.
class DecimalCommas : public testing::Test {
 protected:
  void SetUp() override {
    static const TemporaryFolder locales;
    static const bool made = std::system(("localedef -i de_DE -f UTF-8 '" + locales.path() +
                                          "/de_DE.UTF-8' >/dev/null 2>&1")
                                             .c_str()) == 0;
    if (made) setenv("LOCPATH", locales.path().c_str(), 1);
    const Commas commas(CommasIn::c_functions);
    if (std::strtod("0,5", nullptr) != 0.5)
      GTEST_SKIP() << "there is no locale with commas (Debian: install locales)";
  }
  void TearDown() override { unsetenv("LOCPATH"); }

  TemporaryFolder folder;
};

Eigen::Affine3d far_affine() {
  Eigen::Affine3d affine = some_affine();
  affine.translation() = Eigen::Vector3d(1234.5, -2345.25, 0.125);  // with thousands
  return affine;
}

struct FileOfFormat {
  TransformFormat format;
  const char* name;
};

void expect_same_transform(const FileOfFormat& file, const TemporaryFolder& folder, CommasIn in) {
  SCOPED_TRACE(file.name);
  const TransformContext context{six_geometries()[2].second, moving_grid(), {}};
  const std::string plain = folder / (std::string("plain_") + file.name),
                    other = folder / (std::string("other_") + file.name);
  write_transform_file(plain, file.format, chain_of({far_affine()}), context);
  HostTransform back;
  {
    const Commas commas(in);
    write_transform_file(other, file.format, chain_of({far_affine()}), context);
    back = read_transform_file(plain, file.format, context);
  }
  EXPECT_EQ(read_bytes(other), read_bytes(plain));
  ASSERT_EQ(back.steps.size(), 1u);
  EXPECT_LT((std::get<Eigen::Affine3d>(back.steps[0]).matrix() - far_affine().matrix()).norm(),
            1e-9);
}

TEST_F(DecimalCommas, ChangeNoTransform) {
  for (const FileOfFormat& file : {FileOfFormat{TransformFormat::fsl, "b.mat"},
                                   {TransformFormat::niftyreg, "c.txt"},
                                   {TransformFormat::afni, "d.aff12.1D"},
                                   {TransformFormat::freesurfer, "e.lta"},
                                   {TransformFormat::mrtrix, "f.txt"},
                                   {TransformFormat::elastix, "g.txt"}})
    expect_same_transform(file, folder, CommasIn::streams_too);
  // ITK's own streams follow the program's.
  for (const FileOfFormat& file : {FileOfFormat{TransformFormat::itk, "a.mat"},
                                   {TransformFormat::itk, "a.tfm"},
                                   {TransformFormat::itk, "a.txt"}})
    expect_same_transform(file, folder, CommasIn::c_functions);
}

TEST_F(DecimalCommas, ChangeNoImage) {
  const Geometry grid = six_geometries()[2].second;
  const std::vector<float> voxels = random_values(grid.extent.count(), -2, 2);
  for (const std::string extension : {".nii", ".nii.gz", ".mha", ".nrrd"}) {
    SCOPED_TRACE(extension);
    const std::string plain = folder / ("plain" + extension),
                      other = folder / ("other" + extension);
    write_image(plain, grid, voxels);
    HostImage back;
    {
      const Commas commas(CommasIn::c_functions);
      write_image(other, grid, voxels);
      back = read_image(plain);
    }
    EXPECT_EQ(read_bytes(other), read_bytes(plain));
    expect_same_place(back.geometry, grid);
    EXPECT_EQ(back.voxels, voxels);
  }
}

TEST_F(DecimalCommas, ChangeNoMesh) {
  if (!has_meshes()) GTEST_SKIP() << how_to_get_meshes;
  const std::string path = folder / "m.obj";
  write_bytes(path, "v 0.5 0.25 0\nv 1.5 0 0\nv 0 1.75 -2.5\nf 1 2 3\n");
  const Commas commas(CommasIn::c_functions);
  const std::vector<Eigen::Vector3d> vertices = MovableMesh(path).vertices();
  ASSERT_EQ(vertices.size(), 3u);
  EXPECT_EQ(vertices[2], Eigen::Vector3d(0, 1.75, -2.5));
}

}  // namespace
}  // namespace freeflow::test
