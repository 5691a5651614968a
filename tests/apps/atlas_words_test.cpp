// What atlas says of subjects, options and files that are not as it needs them.
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>

#include <Eigen/Geometry>

#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

#include "apps/atlas_program.h"

namespace freeflow {
namespace atlas_words_test {

using namespace test;
using atlas_test::atlas;
using atlas_test::quick;

class AtlasWords : public atlas_test::AtlasProgram {
 protected:
  /// s1 under a header that turns it.
  void write_turned(const std::string& name) const {
    HostImage image = read_image(path("s1.nii"));
    const Eigen::Matrix3d turn =
        Eigen::AngleAxisd(150 * M_PI / 180, Eigen::Vector3d::UnitZ()).toRotationMatrix();
    image.geometry.direction = turn * image.geometry.direction;
    image.geometry.origin = turn * image.geometry.origin;
    write_image(path(name), image.geometry, image.voxels, StoredType::float32, 1);
  }
  nlohmann::json report(const std::string& prefix) const {
    return nlohmann::json::parse(slurp(folder / (prefix + "report.json")));
  }
  nlohmann::json member(const std::string& prefix, const std::string& name) const {
    const nlohmann::json all = report(prefix);
    for (const auto& found : all["members"])
      if (found["name"] == name) return found;
    return {};
  }
};

TEST_F(AtlasWords, SaysWhichSubjectMatchesBestTurned) {
  write_turned("turned.nii");
  const Outcome o = run(atlas + " -i s0.nii turned.nii s2.nii -o a_ --transforms" +
                        " --levels 2 --iterations 6x2 --rounds 1x1 --enough 0");
  ASSERT_EQ(o.status, 0) << o.err;
  const std::string said = "subject 'turned': the images match best turned by 1";
  EXPECT_NE(o.err.find("atlas: warning: " + said), std::string::npos) << o.err;
  EXPECT_EQ(o.err.find("turned by"), o.err.rfind("turned by")) << "once: " << o.err;
  const auto warnings = report("a_")["warnings"];
  ASSERT_EQ(warnings.size(), 1u) << warnings;
  EXPECT_TRUE(warnings[0].get<std::string>().starts_with(said)) << warnings;
}

TEST_F(AtlasWords, TransformsKeepToTheSearchThatTheTemplateWasMadeBy) {
  write_turned("turned.nii");
  const std::string call =
      atlas + " -i s0.nii turned.nii s2.nii -o a_ --transforms --jacobians" + quick;
  Outcome o = run(call);
  ASSERT_EQ(o.status, 0) << o.err;
  const auto made = member("a_", "turned")["template_to_subject_affine_lps"];
  Eigen::Matrix3d linear;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column) linear(row, column) = made[row][column];
  const Eigen::Affine3d written = read_affine(path("a_turned_0GenericAffine.mat"));
  const Eigen::AngleAxisd apart(Eigen::Affine3d(written.linear() * linear.inverse()).rotation());
  EXPECT_LT(apart.angle() * 180 / M_PI, 45) << "it was turned by 150 degrees against the template";
  const auto before = std::filesystem::last_write_time(path("a_turned_1Warp.nii.gz"));
  o = run(call);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(std::filesystem::last_write_time(path("a_turned_1Warp.nii.gz")), before);
}

TEST_F(AtlasWords, SaysWhatFilesOfMasksAndLabelsSayOfTheirGrids) {
  std::vector<std::string> doubtful{"ms1.nii", "ls2.nii"};
  for (const std::string& name : doubtful) {
    std::fstream file(path(name), std::ios::in | std::ios::out | std::ios::binary);
    constexpr int sform_code = 254, srow_x_offset = 292;
    const std::int16_t aligned = 2;  // to another image: of such ITK takes the qform
    const float elsewhere = 77;
    file.seekp(sform_code).write(reinterpret_cast<const char*>(&aligned), sizeof aligned);
    file.seekp(srow_x_offset).write(reinterpret_cast<const char*>(&elsewhere), sizeof elsewhere);
  }
  const Outcome o = run(atlas + images() + labels() + "--masks ms0.nii ms1.nii ms2.nii -o out_" +
                        quick + "--dry-run");
  ASSERT_EQ(o.status, 0) << o.err;
  for (const std::string& name : doubtful)
    EXPECT_NE(o.err.find("warning: '" + name + "': qform and sform differ"), std::string::npos)
        << o.err;
}

TEST_F(AtlasWords, AConstantImageToStartFromIsNoSubject) {
  const HostImage image = read_image(path("s1.nii"));
  write_image(path("flat.nii"), image.geometry, std::vector<float>(image.voxels.size(), 3),
              StoredType::float32, 1);
  const Outcome o = run(atlas + images() + "-o out_ --start flat.nii" + quick);
  EXPECT_EQ(o.status, 1);
  EXPECT_EQ(o.err, "atlas: --start has one intensity alone: nothing can be registered to it\n");
}

TEST_F(AtlasWords, ASubjectThatIsLeftOutHasNoFigures) {
  const HostImage image = read_image(path("s1.nii"));
  write_image(path("flat.nii"), image.geometry, std::vector<float>(image.voxels.size(), 3),
              StoredType::float32, 1);
  const Outcome o =
      run(atlas + " -i flat.nii s0.nii s1.nii -o a_ --keep-going --levels 1 --iterations 2 " +
          "--linear-search gradient --rounds 1");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("the template of 2 subjects, by 1 round.\n"), std::string::npos) << o.err;
  const auto flat = member("a_", "flat");
  EXPECT_EQ(flat["left_out"],
            "subject 'flat' has one intensity alone: nothing can be registered to it");
  for (const char* figure : {"template_to_subject_affine_lps", "affine_distance_mm", "correlation",
                             "deformation_mm", "outlier_score"}) {
    EXPECT_FALSE(flat.contains(figure)) << figure;
    EXPECT_TRUE(member("a_", "s0").contains(figure)) << figure;
  }
  const std::string page = slurp(folder / "a_report.html");
  const auto row = page.find("<td>flat</td><td>–</td><td>–</td><td>–</td><td>–</td><td>left out");
  EXPECT_NE(row, std::string::npos) << page;
  EXPECT_GT(row, page.find("<td>s0</td>"));
  EXPECT_GT(row, page.find("<td>s1</td>"));
}

TEST_F(AtlasWords, APlanIsOfTheSubjectsThatCanBeRead) {
  std::ofstream(path("bad.nii")) << slurp(folder / "ls1.nii").substr(0, 900);
  const std::string labels = " --labels bad.nii ls1.nii bad.nii",
                    rest = " --keep-going -o out_ --dry-run" + quick;
  Outcome o = run(atlas + " -i s0.nii none.nii s2.nii" + labels + rest);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("warning: subject 'none' is left out: "), std::string::npos) << o.err;
  EXPECT_TRUE(o.out.starts_with("2 subjects, ")) << o.out;
  EXPECT_EQ(o.out.find("agreement"), std::string::npos) << o.out;
  o = run(atlas + " -i s0.nii none.nii" + rest);
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.err.find("a template needs two subjects or more"), std::string::npos) << o.err;
}

TEST_F(AtlasWords, RefusesNumbersByTheNamesOfItsOptions) {
  const std::string call = atlas + images() + "-o out_ --dry-run ";
  expect_refusal(run(call + "--enough 10"), "--enough must lie between 0 and 10");
  expect_refusal(run(call + "--levels 0 --rounds 1"), "--levels must lie between 1 and 8");
  expect_refusal(run(call + "--levels -1 --rounds 1"), "--levels must lie between 1 and 8");
  std::ofstream(path("o.ini")) << "levels = 0\n";
  expect_refusal(run(call + "--config o.ini"), "--levels must lie between 1 and 8");
}

TEST_F(AtlasWords, SaysWhenNothingIsTrimmed) {
  const std::string call =
      atlas + images() +
      "-o a_ --levels 1 --iterations 2 --linear-search gradient --rounds 1 --statistic trimmed";
  const std::string said =
      "--statistic trimmed is the mean here: --trim 0.1 of 3 subjects leaves none out at either "
      "end; name a larger share";
  Outcome o = run(call);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("atlas: warning: " + said + "\n"), std::string::npos) << o.err;
  EXPECT_EQ(report("a_")["warnings"], nlohmann::json::array({said}));
  o = run(call + " --trim 0.34");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.err.find("warning"), std::string::npos) << o.err;
}

TEST_F(AtlasWords, SaysHowToResampleWhatLiesOnAnotherGrid) {
  HostImage image = read_image(path("s1.nii"));
  image.geometry.origin.x() += 3;
  write_image(path("an other.nii"), image.geometry, image.voxels, StoredType::float32, 1);
  std::ofstream(path("list.tsv")) << "image\tchannel2\ns0.nii\ts0.nii\ns1.nii\tan other.nii\n";
  const std::string begin =
      "of the same subject; resample it first: regtool apply -i 'an other.nii'";
  expect_refusal(run(atlas + " -i list.tsv -o out_" + quick), begin + " -r s1.nii -o FILE");
  expect_refusal(run(atlas + " -i s0.nii s1.nii --masks ms0.nii 'an other.nii' -o out_" + quick),
                 begin + " -r s1.nii --interpolation labels -o FILE");
}

TEST_F(AtlasWords, APlanHasRoomForTheState) {
  const std::string call = atlas + images() + "-o a_ --levels 2 --iterations 2x1 --enough 0 " +
                           "--linear-search gradient --rounds 2x6";
  Outcome o = run(call + " --dry-run");
  ASSERT_EQ(o.status, 0) << o.err;
  const std::string begin = "disk for going on: about ";
  const double said = std::stod(o.out.substr(o.out.find(begin) + begin.size()));
  o = run(call);
  ASSERT_EQ(o.status, 0) << o.err;
  double bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(path("a_state")))
    bytes += double(file.file_size());
  const double states = 6 * 24 * 24 * 24 * 3;  // once more while a round goes on
  EXPECT_LT(bytes + states, said * 1e6);
  EXPECT_GT(bytes + states, said * 1e6 / 2);
}

}  // namespace atlas_words_test
}  // namespace freeflow
