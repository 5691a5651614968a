// linreg as a user runs it: good calls, bad calls, failures, reproducibility; and ffdreg's linear
// stage.
#include <algorithm>
#include <nlohmann/json.hpp>

#include <freeflow/deform/warp.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "apps/resampled.h"
#include "support/phantoms.h"

namespace freeflow {
namespace linreg_test {

using namespace test;

const std::string linreg = program_path("linreg");
const std::vector<std::string> written = {"0GenericAffine.mat", "Warped.nii.gz",
                                          "InverseWarped.nii.gz", "report.json"};

double with_nose(const Eigen::Vector3d& p) {
  return head(p, 20) + 2 / (1 + std::exp((p - Eigen::Vector3d(4, 20, -6)).norm() - 6));
}

Eigen::Affine3d truth() {
  return Eigen::Translation3d(12, -7, 5) *
         Eigen::Affine3d(Eigen::AngleAxisd(0.5, Eigen::Vector3d(1, 2, -1).normalized()));
}

class Linreg : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("f.nii.gz", {34, 38, 22},
          [](const Eigen::Vector3d& p) { return with_nose(truth() * p); });
    write("m.nii.gz", {40, 36, 30},
          [](const Eigen::Vector3d& p) { return 50 * std::exp(-0.3 * with_nose(p)); });
  }

  template <class F>
  void write(const std::string& name, Extent extent, F&& f) {
    Geometry g = oblique_geometry(extent, {1.9, 1.8, 2.6});
    g.origin = Eigen::Vector3d::Zero();
    g.origin = -g.center();
    Context cpu;
    write_image((folder / name).string(), g, sample_world(cpu, g, f).to_host(cpu),
                StoredType::float32, 1);
  }

  double error(const std::string& file) const {
    const Eigen::Affine3d found = read_affine((folder / file).string());
    double worst = 0;
    for (int corner = 0; corner < 8; ++corner) {
      const Eigen::Vector3d p(corner & 1 ? 10 : -10, corner & 2 ? 10 : -10, corner & 4 ? 10 : -10);
      worst = std::max(worst, (found * p - truth() * p).norm());
    }
    return worst;
  }
};

TEST_F(Linreg, WritesWhatItPromises) {
  const Outcome o = run(linreg + " -f f.nii.gz -m m.nii.gz -o new/folder/a_ --dof 6");
  ASSERT_EQ(o.status, 0) << o.err;
  expect_closing_words_alone(o);
  EXPECT_EQ(o.out, "");
  for (const std::string& name : written)
    EXPECT_TRUE(std::filesystem::exists(folder / "new/folder" / ("a_" + name))) << name;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "new/folder"), {}),
            std::ptrdiff_t(written.size()));
  EXPECT_LT(error("new/folder/a_0GenericAffine.mat"), 0.6);

  const auto report = nlohmann::json::parse(slurp(folder / "new/folder/a_report.json"));
  for (const char* key : {"program", "version", "options", "device", "fixed", "moving", "warnings",
                          "levels", "seconds", "memory_bytes", "overlap_fraction", "linear"})
    EXPECT_TRUE(report.contains(key)) << key;
  const auto& linear = report["linear"];
  for (const char* key : {"rotation_degrees_xyz", "translation_mm", "scale", "skew_xy_xz_yz"})
    EXPECT_EQ(linear[key].size(), 3u) << key;
  EXPECT_NEAR(linear["scale"][0].get<double>(), 1, 1e-9);
  EXPECT_GT(report["overlap_fraction"]["after"].get<double>(), 0.5);

  // The warped images are those of the written transform.
  Context cpu;
  const HostImage fixed = read_image((folder / "f.nii.gz").string()),
                  moving = read_image((folder / "m.nii.gz").string());
  const HostImage warped = read_image((folder / "new/folder/a_Warped.nii.gz").string());
  EXPECT_TRUE(same_grid(warped.geometry, fixed.geometry));
  EXPECT_TRUE(
      same_grid(read_image((folder / "new/folder/a_InverseWarped.nii.gz").string()).geometry,
                moving.geometry));
  const float fill = *std::min_element(moving.voxels.begin(), moving.voxels.end());
  const std::vector<float> again =
      warp(cpu, to_volume(cpu, moving), fixed.geometry,
           read_affine((folder / "new/folder/a_0GenericAffine.mat").string()), nullptr,
           Interpolation::linear, fill)
          .to_host(cpu);
  for (std::size_t i = 0; i < again.size(); ++i) ASSERT_NEAR(again[i], warped.voxels[i], 2e-3);
}

/// Through an affine that is far from the identity, by an interpolation that is not the library's.
TEST_F(Linreg, TheInverseWarpedImageIsTheFixedOneThroughTheInverse) {
  ASSERT_EQ(run(linreg + " -f f.nii.gz -m m.nii.gz -o a_ --dof 6").status, 0);
  const HostImage fixed = read_image((folder / "f.nii.gz").string()),
                  moving = read_image((folder / "m.nii.gz").string()),
                  carried = read_image((folder / "a_InverseWarped.nii.gz").string());
  const Eigen::Affine3d back = read_affine((folder / "a_0GenericAffine.mat").string()).inverse();
  ASSERT_GT(Eigen::AngleAxisd(back.rotation()).angle(), 0.4);
  const auto expected = [&](const Eigen::Vector3d& y) {
    return reference::value_at(fixed.geometry, fixed.voxels, back * y);
  };
  EXPECT_GT(expect_resampled(carried, fixed, expected), moving.voxels.size() / 2);
}

TEST_F(Linreg, GivesTheSameBytesWhateverTheThreads) {
  ASSERT_EQ(run(linreg + " -f f.nii.gz -m m.nii.gz -o a_ --device cpu --threads 1").status, 0);
  ASSERT_EQ(run(linreg + " -f f.nii.gz -m m.nii.gz -o b_ --device cpu --threads 3").status, 0);
  for (const std::string& name : written) {
    if (name == "report.json") continue;  // holds times
    EXPECT_EQ(slurp(folder / ("a_" + name)), slurp(folder / ("b_" + name))) << name;
  }
}

TEST_F(Linreg, TakesEverySearchAndStart) {
  write_affine((folder / "start.tfm").string(), Eigen::Translation3d(2, 1, -1) * truth(),
               Eigen::Vector3d::Zero());
  const std::string call = linreg + " -f f.nii.gz -m m.nii.gz -o a_ --dof 6 --init ",
                    searching = call + "start.tfm --search ";
  for (const std::string search : {"gradient", "powell", "hill", "flirt"}) {
    ASSERT_EQ(run(searching + search).status, 0) << search;
    EXPECT_LT(error("a_0GenericAffine.mat"), 0.8) << search;
  }
  const Geometry grid = read_image((folder / "f.nii.gz").string()).geometry;
  write_displacement((folder / "u.nii.gz").string(), grid,
                     std::vector<float>(3 * grid.extent.count()));
  expect_refusal(run(linreg + " -f f.nii.gz -m m.nii.gz -o out_ --init u.nii.gz"),
                 "holds a displacement");
  for (const std::string init : {"moments", "center", "identity"}) {
    ASSERT_EQ(run(call + init).status, 0) << init;
    EXPECT_LT(error("a_0GenericAffine.mat"), 0.8) << init;
  }
}

TEST_F(Linreg, SamplesTricubicallyOnRequest) {
  write_affine((folder / "start.tfm").string(), Eigen::Translation3d(2, 1, -1) * truth(),
               Eigen::Vector3d::Zero());
  const std::string searching =
      linreg + " -f f.nii.gz -m m.nii.gz --dof 6 --init start.tfm --levels 2 --search ";
  for (const std::string search : {"gradient", "hill"}) {
    const std::string call = searching + search;
    ASSERT_EQ(run(call + " -o l_").status, 0) << search;
    ASSERT_EQ(run(call + " -o c_ --sampling cubic").status, 0) << search;
    EXPECT_LT(error("c_0GenericAffine.mat"), 0.8) << search;
    const auto trilinear = nlohmann::json::parse(slurp(folder / "l_report.json")),
               cubic = nlohmann::json::parse(slurp(folder / "c_report.json"));
    EXPECT_EQ(cubic["options"]["sampling"], "cubic");
    EXPECT_NE(cubic["linear"]["cost"]["before"], trilinear["linear"]["cost"]["before"]);
  }
}

TEST_F(Linreg, TakesMasks) {
  write("fm.nii.gz", {34, 38, 22},
        [](const Eigen::Vector3d& p) { return (truth() * p).norm() < 28; });
  write("mm.nii.gz", {40, 36, 30}, [](const Eigen::Vector3d& p) { return p.norm() < 28; });
  const Outcome o =
      run(linreg +
          " -f f.nii.gz -m m.nii.gz -o a_ --dof 6 --fixed-mask fm.nii.gz --moving-mask mm.nii.gz");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_LT(error("a_0GenericAffine.mat"), 1);
}

TEST_F(Linreg, FailsWithTheFractionWithoutOverlap) {
  Eigen::Affine3d far = Eigen::Affine3d::Identity();
  far.translation().x() = 900;
  write_affine((folder / "far.tfm").string(), far, Eigen::Vector3d::Zero());
  expect_refusal(run(linreg + " -f f.nii.gz -m m.nii.gz -o out_ --search gradient --init far.tfm"),
                 "0.0 %", 1);
}

TEST_F(Linreg, RefusesUnusableCalls) {
  const std::string images = " -f f.nii.gz -m m.nii.gz -o out_";
  expect_refusal(run(linreg + images + " --dof 8"), "6, 7, 9, 12");
  expect_refusal(run(linreg + images + " --search best"), "flirt");
  expect_refusal(run(linreg + images + " --refine best"), "blocks");
  expect_refusal(run(linreg + images + " --powell-resolution fine"), "0.02,0.05");
  expect_refusal(run(linreg + images + " --powell-resolution 0,0"), "add --search powell or flirt");
  expect_refusal(run(linreg + images + " --sampling nearest"),
                 "--sampling 'nearest' is not one of linear, cubic");
  expect_refusal(run(linreg + images + " --sampling cubic -s cr"),
                 "cubic sampling is of nmi and mi");
  expect_refusal(run(linreg + images + " --sampling cubic --estimator partial_volume"),
                 "trilinear");
  expect_refusal(run(linreg + images + " --levels 0"), "levels");
  expect_refusal(run(linreg + images + " -s nim"), "nmi");
  expect_refusal(run(linreg + images + " --init missing.mat"), "missing.mat");
  Eigen::Affine3d mirror = Eigen::Affine3d::Identity();
  mirror.linear()(0, 0) = -1;
  write_affine((folder / "mirror.tfm").string(), mirror, Eigen::Vector3d::Zero());
  expect_refusal(run(linreg + images + " --init mirror.tfm"), "left and right");
  write("constant.nii.gz", {20, 20, 20}, [](const Eigen::Vector3d&) { return 7; });
  expect_refusal(run(linreg + " -f f.nii.gz -o out_ -m constant.nii.gz"), "constant", 1);
  // levels of it are means, whose rounding is no content
  write("constant.nii.gz", {96, 128, 60}, [](const Eigen::Vector3d&) { return 7; });
  expect_refusal(run(linreg + " -f constant.nii.gz -o out_ -m m.nii.gz"), "constant", 1);
  std::filesystem::copy(folder / "m.nii.gz", folder / "w_Warped.nii.gz");
  expect_refusal(run(linreg + " -f f.nii.gz -m w_Warped.nii.gz -o w_"), "also an input");
}

TEST_F(Linreg, OutputsThatItHasNotAreSaid) {
  const std::string call = linreg + " -f f.nii.gz -m m.nii.gz -o a_ --search gradient --outputs ";
  const Outcome field = run(call + "warp,report"), all = run(call + "all");
  EXPECT_NE(field.err.find("linreg writes none"), std::string::npos) << field.err;
  EXPECT_EQ(all.err.find("linreg writes none"), std::string::npos) << all.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "a_0GenericAffine.mat"));
}

TEST_F(Linreg, HelpNamesTheOptions) {
  const Outcome help = run(linreg + " --help");
  EXPECT_EQ(help.status, 0);
  for (const char* word : {"--dof", "Example"})
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  const std::string all = run(linreg + " --help all").out;
  EXPECT_NE(all.find("--search"), std::string::npos);
  for (const std::string& line : lines_of(all)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(all.find("--linear"), std::string::npos) << "it is refused";
  EXPECT_NE(run(linreg + " --version").out.find("FreeFlow"), std::string::npos);
}

TEST_F(Linreg, IsTheFirstStageOfFfdreg) {
  const std::string call =
      program_path("ffdreg") +
      " -f f.nii.gz -m m.nii.gz -o a_ --levels 2 --iterations 5 --spacing 10mm";
  ASSERT_EQ(run(call).status, 0);
  EXPECT_LT(error("a_0GenericAffine.mat"), 1);
  const auto report = nlohmann::json::parse(slurp(folder / "a_report.json"));
  EXPECT_TRUE(report["linear"].contains("levels"));
  EXPECT_GT(report["seconds"]["linear"].get<double>(), 0);
  ASSERT_EQ(run(call + " --linear rigid").status, 0);
  const Eigen::Matrix3d rigid = read_affine((folder / "a_0GenericAffine.mat").string()).linear();
  EXPECT_TRUE((rigid.transpose() * rigid).isIdentity(1e-9));
}

}  // namespace linreg_test
}  // namespace freeflow
