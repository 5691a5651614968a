// What the programs say of other programs' transforms, in words that a user of theirs can act on.
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

const std::string regtool = program_path("regtool");

class RegtoolTransforms : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    const Geometry grid = oblique_geometry({12, 14, 16}, {1.5, 2, 2.5});
    write_image(path("f.nii.gz"), grid, std::vector<float>(grid.extent.count(), 1));
    write_affine(path("a.mat"), Eigen::Affine3d::Identity(), Eigen::Vector3d::Zero());
    text("g.aff12.1D", "1 0 0 4 0 1 0 5 0 0 1 6\n");
    text("p.csv", "1,2,3\n");
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  void text(const std::string& name, const std::string& contents) const {
    std::ofstream(folder / name) << contents;
  }
  /// Status 0 and one warning on stderr that has the words and names no field of the library.
  void expect_warning(const std::string& call, const std::string& words) const {
    const Outcome o = run(regtool + call);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_NE(o.err.find("warning: "), std::string::npos) << o.err;
    EXPECT_NE(o.err.find(words), std::string::npos) << o.err;
    for (const char* inside : {"TransformContext", "TransformFormat", ".freeflow-"})
      EXPECT_EQ(o.err.find(inside), std::string::npos) << o.err;
  }
};

TEST_F(RegtoolTransforms, AWarningNamesOptions) {
  expect_warning(" convert -t g.aff12.1D --to itk -o x.txt", "(set --fixed and --moving)");
}

TEST_F(RegtoolTransforms, AffinesForAfniNeedTheImages) {
  expect_warning(" convert -t a.mat --to afni -o x.aff12.1D",
                 "'x.aff12.1D' is between images as AFNI sees them; written as it stands");
  const Outcome o = run(regtool +
                        " convert -t a.mat --to afni -o y.aff12.1D --fixed f.nii.gz "
                        "--moving f.nii.gz");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.err, "");
}

}  // namespace
}  // namespace freeflow
