// Images of several channels, as a user gives them to the registration programs.
#include <nlohmann/json.hpp>

#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>

#include "apps/program_test_support.h"
#include "support/warped_phantom.h"

namespace freeflow {
namespace channels_test {

using namespace test;

const std::string fluidreg = program_path("fluidreg"), ffdreg = program_path("ffdreg"),
                  linreg = program_path("linreg");
const std::string both = " -f f1.nii.gz -f f2.nii.gz -m m1.nii.gz -m m2.nii.gz ";
const std::string quick = " --linear none --start none --levels 2 --iterations 30x10 ";

/// The usual phantom: whole (f, m), and in two channels, of which one shows the half of the head
/// towards -x (f1, m1) and the other the half towards x (f2, m2).
class Channels : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    for (int side = 0; side < 3; ++side) {
      const auto part = [side](const Eigen::Vector3d& p) {
        const double sign = side == 1 ? 1 : -1;
        return head(p, 26) * (side == 0 ? 1 : 1 / (1 + std::exp(sign * p.x())));
      };
      const std::string number = side == 0 ? "" : std::to_string(side);
      write("f" + number, phantom.fixed,
            [&](const Eigen::Vector3d& p) { return 100 * part(p + true_displacement(p)); });
      write("m" + number, phantom.moving, [&](const Eigen::Vector3d& p) { return 30 * part(p); });
    }
  }

  template <class F>
  void write(const std::string& name, const Geometry& g, F&& f) {
    Context cpu;
    write_image((folder / (name + ".nii.gz")).string(), g, sample_world(cpu, g, f).to_host(cpu),
                StoredType::float32, 1);
  }

  Outcome call(std::string program, std::initializer_list<std::string> words) const {
    for (const std::string& w : words) program += w;
    return run(program);
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(folder / name); }
  nlohmann::json report(const std::string& prefix) const {
    return nlohmann::json::parse(slurp(folder / (prefix + "report.json")));
  }
  /// Of PREFIX1Warp.nii.gz, mm inside the head.
  double error(const std::string& prefix) const {
    Context cpu;
    const HostField u = read_displacement((folder / (prefix + "1Warp.nii.gz")).string());
    return phantom.error(cpu, DisplacementField(cpu, u.geometry, u.planes));
  }

  Phantom phantom = usual_phantom(false);
};

TEST_F(Channels, TwoHalvesRecoverWhatNeitherDoesAlone) {
  // The other models: tests/registration/channels_test.cpp.
  for (const std::string& program : {fluidreg, ffdreg, fluidreg + " --model demons -s lncc"}) {
    ASSERT_EQ(call(program, {" -f f1.nii.gz -m m1.nii.gz -o a_", quick}).status, 0);
    ASSERT_EQ(call(program, {" -f f2.nii.gz -m m2.nii.gz -o b_", quick}).status, 0);
    ASSERT_EQ(call(program, {both, "-o both_", quick}).status, 0);
    EXPECT_LT(error("both_"), 1);
    EXPECT_GT(error("a_"), 1.5 * error("both_")) << program;
    EXPECT_GT(error("b_"), 1.5 * error("both_")) << program;
  }
}

TEST_F(Channels, EveryChannelIsWrittenAndReported) {
  ASSERT_EQ(run(fluidreg + both + "--channel-weights 1 0.5 -o a_" + quick).status, 0);
  for (const char* name : {"Warped", "InverseWarped", "Warped2", "InverseWarped2"})
    EXPECT_TRUE(exists("a_" + std::string(name) + ".nii.gz")) << name;
  EXPECT_FALSE(exists("a_Warped3.nii.gz"));
  const auto r = report("a_");
  EXPECT_EQ(r["options"]["fixed"], (std::vector<std::string>{"f1.nii.gz", "f2.nii.gz"}));
  ASSERT_EQ(r["channels"].size(), 2u);
  EXPECT_EQ(r["channels"][1]["fixed"], "f2.nii.gz");
  EXPECT_EQ(r["channels"][1]["moving"], "m2.nii.gz");
  EXPECT_DOUBLE_EQ(r["channels"][0]["weight"].get<double>(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(r["channels"][1]["weight"].get<double>(), 1.0 / 3);
  EXPECT_LE(r["memory_bytes"]["peak_device"].get<double>(),
            r["memory_bytes"]["predicted_device"].get<double>());
  // Each is its own image on the other's grid.
  const HostImage second = read_image((folder / "a_Warped2.nii.gz").string()),
                  fixed = read_image((folder / "f2.nii.gz").string());
  EXPECT_TRUE(same_grid(second.geometry, fixed.geometry));
  double apart = 0, plain = 0;
  for (std::size_t i = 0; i < fixed.voxels.size(); ++i) {
    apart += std::abs(second.voxels[i] - 0.3 * fixed.voxels[i]);
    plain += std::abs(0.3 * fixed.voxels[i]);
  }
  EXPECT_LT(apart, 0.1 * plain);
}

TEST_F(Channels, OneIsTheImageByTheByte) {
  ASSERT_EQ(run(fluidreg + " -f f.nii.gz -m m.nii.gz -o a_ --iterations 5").status, 0);
  const Outcome one =
      run(fluidreg + " -f f.nii.gz -m m.nii.gz --channel-weights 0.2 -o b_ --iterations 5");
  ASSERT_EQ(one.status, 0);
  EXPECT_NE(one.err.find("--channel-weights changes nothing with one channel"), std::string::npos);
  for (const char* name : {"0GenericAffine.mat", "1Warp.nii.gz", "1InverseWarp.nii.gz",
                           "Warped.nii.gz", "InverseWarped.nii.gz"})
    EXPECT_EQ(slurp(folder / ("a_" + std::string(name))),
              slurp(folder / ("b_" + std::string(name))))
        << name;
  EXPECT_FALSE(report("b_").contains("channels"));
  EXPECT_EQ(report("b_")["options"]["fixed"], "f.nii.gz") << "no list";
}

TEST_F(Channels, TwoOfTheSameGiveNearlyTheFieldOfOne) {
  ASSERT_EQ(run(fluidreg + " -f f.nii.gz -m m.nii.gz -o a_" + quick).status, 0);
  ASSERT_EQ(run(fluidreg + " -f f.nii.gz -f f.nii.gz -m m.nii.gz -m m.nii.gz -o b_" + quick).status,
            0);
  const std::vector<float> a = read_displacement((folder / "a_1Warp.nii.gz").string()).planes,
                           b = read_displacement((folder / "b_1Warp.nii.gz").string()).planes;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]) / double(a.size());
  EXPECT_LT(sum, 0.02);
}

TEST_F(Channels, LinregTakesThem) {
  const Outcome o = run(linreg + both + "--dof 6 -o a_ -v");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find(", 2 channels"), std::string::npos) << o.err;
  EXPECT_TRUE(exists("a_Warped2.nii.gz"));
  EXPECT_TRUE(exists("a_InverseWarped2.nii.gz"));
  EXPECT_EQ(report("a_")["channels"].size(), 2u);
}

TEST_F(Channels, GoWithMasksStartsBidsAndAConfiguration) {
  write("mask", phantom.fixed, [](const Eigen::Vector3d& p) { return p.norm() < 30; });
  std::ofstream(folder / "two.ini") << "fixed = f1.nii.gz\nfixed = f2.nii.gz\nmoving = m1.nii.gz\n"
                                       "moving = m2.nii.gz\nchannel-weights = 1 0.5\n";
  const Outcome o = run(ffdreg +
                        " --config two.ini --fixed-mask mask.nii.gz --init moments --bids A:B "
                        "-o sub-1 --levels 2 --iterations 3");
  ASSERT_EQ(o.status, 0) << o.err;
  for (const char* name :
       {"sub-1_from-A_to-B_mode-image_xfm.h5", "sub-1_space-B_desc-warped_A.nii.gz",
        "sub-1_space-B_desc-warped2_A.nii.gz", "sub-1_space-A_desc-warped2_B.nii.gz"})
    EXPECT_TRUE(exists(name)) << name;
  ASSERT_EQ(run(fluidreg + both + "-o a_" + quick).status, 0);
  ASSERT_EQ(run(fluidreg + both +
                "-o b_ --levels 1 --iterations 0 --init a_1Warp.nii.gz --init "
                "a_0GenericAffine.mat")
                .status,
            0);
  EXPECT_NEAR(error("a_"), error("b_"), 1e-3);
}

TEST_F(Channels, PaddingIsFoundInEachAndIntensitiesAreClippedInEach) {
  write("p2", phantom.moving,
        [](const Eigen::Vector3d& p) { return p.norm() < 30 ? 1000 * head(p, 26) - 1000 : -3024; });
  const Outcome o = run(fluidreg +
                        " -f f1.nii.gz -f f2.nii.gz -m m1.nii.gz -m p2.nii.gz --clip -1000,2000 "
                        "-o a_ -s lncc" +
                        quick);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("'p2.nii.gz' is padded with -3024"), std::string::npos) << o.err;
  EXPECT_EQ(o.err.find("'m1.nii.gz' is padded"), std::string::npos) << o.err;
  const HostImage warped = read_image((folder / "a_Warped2.nii.gz").string());
  EXPECT_EQ(*std::ranges::min_element(warped.voxels), -3024) << "written as it came";
}

TEST_F(Channels, WhatDoesNotBelongTogetherIsRefused) {
  const std::string out = " -o out_";
  for (const std::string& program : {fluidreg, ffdreg, linreg}) {
    expect_refusal(call(program, {" -f f1.nii.gz -f f2.nii.gz -m m1.nii.gz", out}),
                   "-f names 2 channels and -m 1");
    expect_refusal(call(program, {both, "--channel-weights 1 2 3", out}),
                   "--channel-weights has 3 numbers for 2 channels");
  }
  expect_refusal(run(fluidreg + both + "--channel-weights 1 heavy" + out),
                 "--channel-weights 'heavy' is not a number");
  expect_refusal(run(fluidreg + both + "--channel-weights 1 0" + out),
                 "--channel-weights must lie between");
  const Outcome grids =
      run(fluidreg + " -f f1.nii.gz -f m2.nii.gz -m m1.nii.gz -m m2.nii.gz" + out);
  expect_refusal(grids, "'m2.nii.gz' lies on another grid than 'f1.nii.gz'");
  EXPECT_NE(grids.err.find("regtool apply -i m2.nii.gz -r f1.nii.gz"), std::string::npos);
  expect_refusal(run(fluidreg + " -f f1.nii.gz -f f2.nii.gz -m m1.nii.gz -m f2.nii.gz" + out),
                 "'f2.nii.gz' lies on another grid than 'm1.nii.gz'");
  expect_refusal(run(fluidreg + " -f f1.nii.gz -f none.nii.gz -m m1.nii.gz -m m2.nii.gz" + out),
                 "none.nii.gz");
  expect_refusal(run(fluidreg + " -f f1.nii.gz -f '' -m m1.nii.gz -m m2.nii.gz" + out), "-f FILE");
  write("flat", phantom.fixed, [](const Eigen::Vector3d&) { return 7.0; });
  expect_refusal(run(fluidreg + " -f f1.nii.gz -f flat.nii.gz -m m1.nii.gz -m m2.nii.gz --quiet" +
                     quick + out),
                 "channel 2 of the fixed image is constant", 1);
  std::filesystem::copy_file(folder / "m2.nii.gz", folder / "kept_Warped2.nii.gz");
  const Outcome over = run(fluidreg +
                           " -f f1.nii.gz -f f2.nii.gz -m m1.nii.gz -m kept_Warped2.nii.gz -o "
                           "kept_");
  EXPECT_EQ(over.status, 2) << over.err;
  EXPECT_NE(over.err.find("is also an input"), std::string::npos) << over.err;
}

}  // namespace channels_test
}  // namespace freeflow
