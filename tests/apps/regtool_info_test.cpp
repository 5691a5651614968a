// regtool info as a user runs it: what headers say, where readers disagree, what transforms hold.
#include <array>

#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "io/io_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace regtool_info_test {

using namespace test;

const std::string regtool = program_path("regtool");
constexpr std::array<float, 12> shifted{1, 0, 0, 5, 0, 2, 0, 6, 0, 0, 3, 7};

class RegtoolInfo : public ProgramTest {
 protected:
  std::string path(const std::string& name) const { return (folder / name).string(); }

  /// Runs info and demands all of the parts on stdout.
  std::string info(const std::string& arguments, const std::vector<std::string>& parts) const {
    const Outcome o = run(regtool + " info " + arguments);
    EXPECT_EQ(o.status, 0) << o.err;
    for (const std::string& part : parts)
      EXPECT_NE(o.out.find(part), std::string::npos) << "lacks: " << part << "\n" << o.out;
    return o.out;
  }

  /// 4 x 5 x 6 voxels of 1 x 2 x 3 mm, a qform without rotation from the origin, and that sform.
  void write_forms(int qform_code, int sform_code, const std::array<float, 12>& sform) const {
    std::string bytes = nifti_header({4, 5, 6}, 2, 8);
    put_at<std::int16_t>(bytes, 252, std::int16_t(qform_code));
    put_sform(bytes, sform_code, sform);
    write_bytes(path("x.nii"), bytes + std::string(120, 'a'));
  }
  static Eigen::Affine3d turn() {
    Eigen::Affine3d a = Eigen::Affine3d::Identity();
    a.linear() = 1.5 * Eigen::AngleAxisd(M_PI / 6, Eigen::Vector3d::UnitZ()).toRotationMatrix();
    a.translation() = Eigen::Vector3d(3, 0, 4);
    return a;
  }
};

TEST_F(RegtoolInfo, DescribesAnImageOfNothingFinite) {
  write_image(path("nan.nii"), Geometry{{4, 5, 6}}, std::vector<float>(120, NAN),
              StoredType::float32, 1);
  info("nan.nii", {"4x5x6 voxels", "values     none: no voxel has a finite number",
                   "warning    the programs refuse it: cannot read 'nan.nii': none of its voxels"});
}

TEST_F(RegtoolInfo, SaysOfTablesMeshesAndPairsWhatTheyAre) {
  for (const std::string name : {"p.csv", "p.fcsv", "p.ply", "p.mrk.json", "p.hdr.gz"})
    write_bytes(path(name), "x,y,z\n1,2,3\n");
  const std::string call = regtool + " info ";
  expect_refusal(run(call + "p.csv"), "it is a table, of which info says nothing");
  expect_refusal(run(call + "p.fcsv"), "it is a table, of which info says nothing");
  expect_refusal(run(call + "p.ply"), "it is a mesh, of which info says nothing");
  expect_refusal(run(call + "p.mrk.json"), "it is no image and no transform");
  expect_refusal(run(call + "p.hdr.gz"), "the header of its pair is compressed");
}

TEST_F(RegtoolInfo, SaysWhichFormWasTakenAndWhy) {
  write_forms(1, 0, shifted);
  const std::string calm =
      info("x.nii", {"the qform: the sform is not set", "RAS", "4x5x6 voxels"});
  EXPECT_EQ(calm.find("warning"), std::string::npos) << calm;
  write_forms(0, 4, shifted);
  info("x.nii", {"the sform: the qform is not set", "code 4 (MNI 152), voxel to mm:\n",
                 "-1.000000   0.000000   0.000000    -5.000000\n"});
  write_forms(1, 2, {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0});
  info("x.nii", {"qform and sform, which agree"});
  write_forms(1, 2, shifted);
  info("x.nii", {"the qform: by ITK's rule", "code 1 (scanner)", "FSL, SPM, nibabel", "10.5 mm"});
  write_forms(1, 1, shifted);
  info("x.nii",
       {"the sform: by ITK's rule", "take the qform place voxels up to 10.5 mm elsewhere"});
  write_forms(0, 0, shifted);
  info("x.nii", {"neither qform nor sform is set", "warning", "LPS"});
}

/// The header keeps three of a quaternion's numbers; after a half turn the fourth is what rounding
/// leaves of them.
TEST_F(RegtoolInfo, AHalfTurnIsNoDisagreement) {
  std::string bytes = nifti_header({256, 4, 200}, 2, 8);
  for (std::size_t axis = 1; axis < 4; ++axis) put_at<float>(bytes, 76 + 4 * axis, 1.f);
  put_at<float>(bytes, 76, -1.f);
  put_at<std::int16_t>(bytes, 252, 1);
  put_at<float>(bytes, 260, 0.70710677f);
  put_at<float>(bytes, 264, 0.70710677f);
  put_sform(bytes, 1, {-1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0});
  write_bytes(path("x.nii"), bytes + std::string(256 * 4 * 200, 'a'));
  const std::string out = info("x.nii", {"qform and sform, which agree", "LSP"});
  EXPECT_EQ(out.find("warning"), std::string::npos) << out;
}

TEST_F(RegtoolInfo, WarnsOfVoxelSizesAndShear) {
  write_forms(1, 1, {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0});
  info("x.nii", {"(pixdim) is 1 x 2 x 3 mm, but the sform's axes are 2 x 2 x 3 mm", "warning",
                 "origin     0 0 0 mm"});
  write_forms(1, 1, {1, 1, 0, 0, 0, 1.7320508f, 0, 0, 0, 0, 3, 0});
  info("x.nii", {"30.00 degrees off a right angle", "the qform: by ITK's rule"});
  write_forms(0, 1, {1, 1, 0, 0, 0, 1.7320508f, 0, 0, 0, 0, 3, 0});
  info("x.nii",
       {"30.00 degrees", "refuse it: cannot read 'x.nii': its axes", "values     not read"});
}

TEST_F(RegtoolInfo, SaysWhatOtherImagesHoldFromTheirHeaders) {
  std::string bytes = nifti_header({4, 5, 6, 7}, 4, 16);
  put_at<float>(bytes, 112, 0.5f);
  put_at<float>(bytes, 116, 10.f);
  bytes[123] = 2 + 8;
  write_bytes(path("series.nii"), bytes + std::string(2 * 840, 'a'));
  info("series.nii", {"4x5x6x7 voxels, 4-D, scalars", "int16; value = 0.5 * stored + 10", "mm, s",
                      "values     not read"});
  write_bytes(path("rgb.nii"), nifti_header({4, 5, 6}, 128, 24) + std::string(360, 'a'));
  info("rgb.nii", {"RGB colours of 3 numbers", "uint8", "grid       4x5x6", "not read"});
  write_bytes(path("bits.nii"), nifti_header({4, 5, 6, 1, 2}, 64, 64) + std::string(8 * 240, '\0'));
  info("bits.nii", {"vectors of 2 numbers", "float64", "3-D"});
  write_bytes(path("warp.nii"), nifti_header({4, 5, 6, 3}, 16, 32) + std::string(4 * 360, '\0'));
  info("warp.nii", {"4-D", "name the format with --from"});
  write_bytes(path("vectors.nii"),
              nifti_header({4, 5, 6, 1, 3}, 16, 32) + std::string(4 * 360, '\0'));
  info("vectors.nii", {"an image, NIfTI-1", "vectors of 3 numbers", "name the format with --from"});
  write_image(path("y.nrrd"), oblique_grid({20, 10, 12}), random_values(2400, 7u, -1.f, 1.f));
  info("y.nrrd", {"NRRD", "float32", "oblique", "values     -0.99"});
}

TEST_F(RegtoolInfo, TakesAnAffineApart) {
  write_affine(path("a.mat"), turn(), Eigen::Vector3d::Zero());
  info("a.mat",
       {"format     itk", "times 3.375000", "30.0000 degrees about (0.0000, 0.0000, 1.0000)",
        "1.500000 1.500000 1.500000", "3.0000 0.0000 4.0000 mm (5.0000) of the world's"});
  Eigen::Affine3d mirror = turn();
  mirror.linear().col(0) *= -1;
  write_affine(path("m.mat"), mirror, Eigen::Vector3d::Zero());
  info("m.mat", {"times 3.375000, mirrored"});
}

TEST_F(RegtoolInfo, GoesThroughTheStepsOfAChain) {
  Geometry grid = plain_geometry({12, 12, 12});
  grid.spacing = {2, 2, 2};
  const auto constant = [](int x, int, int) { return Eigen::Vector3d(x == 6 ? 3 : 1, 0, -0.5); };
  write_displacement(path("u.nii.gz"), grid, field_planes(grid.extent, constant), 1);
  write_affine(path("a.mat"), turn(), Eigen::Vector3d::Zero());
  info("u.nii.gz",
       {"displacements in mm, LPS", "steps      1", "12x12x12 voxels of 2x2x2 mm", "6.0828 at most",
        "2.0000 to 6.0000 mm left", "-1.0000 to -1.0000 superior", "144 of 1728 voxels fold",
        "at corners from -1.0000; 200 of 1000 inner voxels fold"});
  ASSERT_EQ(run(regtool + " convert --to itk -t u.nii.gz -t a.mat -o whole.h5").status, 0);
  info("whole.h5", {"step 1     a displacement field", "step 2     an affine",
                    "of the centre of the field's grid (11 11 11)", "in all"});
  ASSERT_EQ(run(regtool + " convert --to spm -t u.nii.gz -o y_u.nii").status, 0);
  info("y_u.nii",
       {"format     spm (as its header says)", "positions in mm, RAS", "6.0828 at most"});
}

TEST_F(RegtoolInfo, ReadsFormatsThatNeedTheImages) {
  const Geometry grid = plain_geometry({12, 14, 16});
  write_image(path("f.nii.gz"), grid, std::vector<float>(grid.extent.count(), 1));
  write_affine(path("a.mat"), turn(), Eigen::Vector3d::Zero());
  const std::string images = " --fixed f.nii.gz --moving f.nii.gz";
  ASSERT_EQ(run(regtool + " convert --to fsl -t a.mat -o flirt.mat" + images).status, 0);
  info("flirt.mat" + images, {"format     fsl", "30.0000 degrees", "of the fixed image's centre"});
  info(images + " -i flirt.mat", {"format     fsl"});
  info(images + " flirt.mat", {"format     fsl"});
  expect_refusal(run(regtool + " info flirt.mat"), "--fixed");
}

TEST_F(RegtoolInfo, RefusesWithASentence) {
  std::ofstream(folder / "bare.txt") << "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n";
  expect_refusal(run(regtool + " info bare.txt"), "name the format with --from");
  info("bare.txt --from mrtrix", {"mrtrix (as --from says)", "times 1.000000"});
  expect_refusal(run(regtool + " info bare.txt --from sms"), "freesurfer");
  expect_refusal(run(regtool + " info missing.nii"), "missing.nii");
  expect_refusal(run(regtool + " info"), "regtool info FILE");
  write_bytes(path("cut.nii"), nifti_header({4, 5, 6}, 2, 8).substr(0, 200));
  expect_refusal(run(regtool + " info cut.nii"), "ends within its header");
}

}  // namespace regtool_info_test
}  // namespace freeflow
