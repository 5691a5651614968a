// fluidreg as a user runs it.
#include <nlohmann/json.hpp>

#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>

#include "apps/program_test_support.h"
#include "reference/grid.h"
#include "support/phantoms.h"

namespace freeflow {
namespace fluidreg_test {

using namespace test;

const std::string fluidreg = program_path("fluidreg");
const std::string images = " -f f.nii.gz -m m.nii.gz ";
const std::string quick = " --linear none --levels 2 --iterations 20 ";
const std::vector<std::string> written = {"0GenericAffine.mat",   "1Warp.nii.gz",
                                          "1InverseWarp.nii.gz",  "Warped.nii.gz",
                                          "InverseWarped.nii.gz", "report.json"};

class Fluidreg : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("f.nii.gz", {32, 34, 20}, [](const Eigen::Vector3d& p) {
      return head(p + 2 * Eigen::Vector3d(std::sin(0.1 * p.y()), 1, 0), 18);
    });
    write("m.nii.gz", {36, 30, 22}, [](const Eigen::Vector3d& p) { return 50 * head(p, 18); });
  }

  /// Mean error in mm of a written warp between these heads, inside them; without a warp before
  /// any.
  double error(const std::string& name = "") const {
    const HostImage fixed = read_image((folder / "f.nii.gz").string());
    HostField u{fixed.geometry, std::vector<float>(3 * fixed.voxels.size()), {}};
    if (!name.empty()) u = read_displacement((folder / name).string());
    const reference::Displacement found(u.geometry, u.planes);
    const Extent n = fixed.geometry.extent;
    double sum = 0, count = 0;
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x) {
          const Eigen::Vector3d p = reference::world_of(fixed.geometry, Eigen::Vector3d(x, y, z));
          if (p.norm() > 15) continue;
          sum += (found(p) - 2 * Eigen::Vector3d(std::sin(0.1 * p.y()), 1, 0)).norm();
          count += 1;
        }
    return sum / count;
  }

  template <class F>
  void write(const std::string& name, Extent extent, F&& f) {
    Geometry g = oblique_geometry(extent, {1.5, 1.4, 2.4});
    g.origin = Eigen::Vector3d::Zero();
    g.origin = -g.center();
    Context cpu;
    write_image((folder / name).string(), g, sample_world(cpu, g, f).to_host(cpu),
                StoredType::float32, 1);
  }
};

TEST_F(Fluidreg, WritesWhatItPromises) {
  const Outcome o = run(fluidreg + images + "-o new/folder/a_ --start none" + quick);
  ASSERT_EQ(o.status, 0) << o.err;
  expect_closing_words_alone(o);
  EXPECT_EQ(o.out, "");
  for (const std::string& name : written)
    EXPECT_TRUE(std::filesystem::exists(folder / "new/folder" / ("a_" + name))) << name;
  const auto report = nlohmann::json::parse(slurp(folder / "new/folder/a_report.json"));
  EXPECT_EQ(report["program"], "fluidreg");
  EXPECT_EQ(report["options"]["model"], "flow");
  EXPECT_EQ(report["options"]["similarity"], "auto");
  EXPECT_EQ(report["levels"].size(), 2u);
  EXPECT_EQ(report["jacobian"]["folded_voxels"], 0);
  EXPECT_LT(report["inverse_residual_voxels"]["mean"].get<double>(), 0.05);
  const auto& iterations = report["levels"][1]["iterations"];
  EXPECT_LT(iterations.back()["cost"].get<double>(), iterations.front()["cost"].get<double>());
  EXPECT_EQ(report["levels"][1]["stopped_because"], "reached the number of iterations");
  const HostImage fixed = read_image((folder / "f.nii.gz").string());
  EXPECT_TRUE(same_grid(read_displacement((folder / "new/folder/a_1Warp.nii.gz").string()).geometry,
                        fixed.geometry));
}

TEST_F(Fluidreg, GivesTheSameBytesWhateverTheThreads) {
  ASSERT_EQ(run(fluidreg + images + "-o a_ --device cpu --threads 1" + quick).status, 0);
  ASSERT_EQ(run(fluidreg + images + "-o b_ --device cpu --threads 3" + quick).status, 0);
  for (const std::string& name : written) {
    if (name == "report.json") continue;  // holds times
    EXPECT_EQ(slurp(folder / ("a_" + name)), slurp(folder / ("b_" + name))) << name;
  }
}

TEST_F(Fluidreg, CompressionChangesTheFilesAndNotWhatTheyHold) {
  for (const char* level : {"-o c0_ --compress 0", "-o c1_ --compress 1", "-o c9_ --compress 9"}) {
    std::string call = fluidreg + images;
    ASSERT_EQ(run(call.append(level).append(quick)).status, 0);
  }
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  EXPECT_FALSE(std::filesystem::exists(path("c0_1Warp.nii.gz")));
  for (const char* level : {"c1_", "c9_"}) {
    EXPECT_EQ(read_displacement(path(std::string(level) + "1Warp.nii.gz")).planes,
              read_displacement(path("c0_1Warp.nii")).planes)
        << level;
    EXPECT_EQ(read_displacement(path(std::string(level) + "1InverseWarp.nii.gz")).planes,
              read_displacement(path("c0_1InverseWarp.nii")).planes)
        << level;
  }
  EXPECT_EQ(read_image(path("c9_Warped.nii.gz")).voxels, read_image(path("c0_Warped.nii")).voxels);
  EXPECT_LT(std::filesystem::file_size(path("c9_1Warp.nii.gz")),
            std::filesystem::file_size(path("c1_1Warp.nii.gz")));
  const Outcome left = run(fluidreg + images + "-o c0_" + quick);
  EXPECT_NE(left.err.find("of an earlier run"), std::string::npos) << left.err;
  EXPECT_EQ(slurp(path("c0_report.json")).find("of an earlier run"), std::string::npos)
      << "which says nothing of this run's result";
}

TEST_F(Fluidreg, AFluidReportsItsEnergyAndRegriddings) {
  ASSERT_EQ(run(fluidreg + images +
                "-o a_ --model fluid -s ssd --kl 0.02 --sigma-update 1.2vox --start none" + quick)
                .status,
            0);
  const auto report = nlohmann::json::parse(slurp(folder / "a_report.json"));
  EXPECT_EQ(report["levels"][1]["stopped_because"], "reached the number of iterations");
  const auto& last = report["levels"][1]["iterations"].back();
  EXPECT_GT(last["symmetric_kl"].get<double>(), 0);
  EXPECT_NEAR(last["cost"].get<double>(),
              last["similarity_cost"].get<double>() + 0.02 * last["symmetric_kl"].get<double>(),
              1e-12);
  EXPECT_LT(last["cost"].get<double>(),
            report["levels"][1]["iterations"].front()["cost"].get<double>());
  EXPECT_EQ(report["jacobian"]["folded_voxels"], 0);
}

TEST_F(Fluidreg, SwappedImagesOfASymmetricFlowGiveTheInverse) {
  write("g.nii.gz", {32, 34, 20}, [](const Eigen::Vector3d& p) { return head(p, 18); });
  const std::string options = " --symmetric -s ssd" + quick;
  ASSERT_EQ(run(fluidreg + " -f f.nii.gz -m g.nii.gz -o a_" + options).status, 0);
  ASSERT_EQ(run(fluidreg + " -f g.nii.gz -m f.nii.gz -o b_" + options).status, 0);
  EXPECT_EQ(slurp(folder / "a_1Warp.nii.gz"), slurp(folder / "b_1InverseWarp.nii.gz"));
  EXPECT_EQ(slurp(folder / "a_1InverseWarp.nii.gz"), slurp(folder / "b_1Warp.nii.gz"));
  EXPECT_EQ(slurp(folder / "a_Warped.nii.gz"), slurp(folder / "b_InverseWarped.nii.gz"));
}

TEST_F(Fluidreg, TheLinearStageComesFirst) {
  const Outcome o = run(fluidreg + images + "-o a_ --linear rigid --levels 2 --iterations 5 -v");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(nlohmann::json::parse(slurp(folder / "a_report.json")).contains("linear"));
}

TEST_F(Fluidreg, EveryModelMeasureAndSmootherFindsTheWarp) {
  write("g.nii.gz", {36, 30, 22}, [](const Eigen::Vector3d& p) { return head(p, 18); });
  ASSERT_GT(error(), 2.1);
  struct Case {
    const char* options;
    double mm;       ///< at most so far from the truth
    bool one_scale;  ///< the measure compares intensities as they are
  };
  for (const auto& [options, mm, one_scale] :
       {Case{"-s ssd", 0.55, true}, Case{"--model demons -s ssd", 0.45, true},
        Case{"--model demons", 0.4, false}, Case{"-s nmi --sigma-update 3mm", 0.45, false},
        Case{"-s cr --step 0.25", 0.5, false},
        Case{"--smoother recursive --sigma-field 2mm", 0.45, false},
        Case{"--smoother separable --sigma-field 0", 0.6, false},
        Case{"--smoother fft", 0.4, false}, Case{"--velocity navier", 0.45, false},
        Case{"--velocity navier --mu 2 --lambda -1", 0.4, false},
        Case{"--model fluid -s ssd --kl 0.05 --force-kernel recompute", 0.3, true},
        Case{"--model fluid --velocity navier", 0.5, false},
        Case{"--model demons -s ssd --demons esm", 0.45, true},
        Case{"--model demons -s ssd --demons thirion", 0.45, true},
        Case{"--symmetric --kl 0.01", 0.35, false}}) {
    std::string call = fluidreg;
    call.append(one_scale ? " -f f.nii.gz -m g.nii.gz" : " -f f.nii.gz -m m.nii.gz");
    const Outcome o = run(call.append(" -o a_ --start none").append(quick).append(options));
    ASSERT_EQ(o.status, 0) << options << '\n' << o.err;
    EXPECT_LT(error("a_1Warp.nii.gz"), mm) << options;
    const auto report = nlohmann::json::parse(slurp(folder / "a_report.json"));
    EXPECT_EQ(report["jacobian"]["folded_voxels"], 0) << options;
    EXPECT_LT(report["inverse_residual_voxels"]["mean"].get<double>(), 0.05) << options;
  }
}

TEST_F(Fluidreg, LeavesOutLevelsOfFewVoxelsUnlessAskedForThem) {
  const auto levels = [&](const std::string& options) {
    const Outcome o =
        run(fluidreg + images + "-o a_ --outputs report --start none --iterations 1 " + options);
    EXPECT_EQ(o.status, 0) << o.err;
    return nlohmann::json::parse(slurp(folder / "a_report.json"))["levels"].size();
  };
  EXPECT_LT(levels(""), 4U);
  EXPECT_EQ(levels("--levels 4"), 4U);
}

TEST_F(Fluidreg, GoesOnWhereAnotherRunEnded) {
  ASSERT_EQ(run(fluidreg + images + "-o a_ --linear rigid --levels 2 --iterations 20").status, 0);
  const std::string start = " --init a_1Warp.nii.gz --init a_0GenericAffine.mat ";
  const Outcome o = run(fluidreg + images + "-o b_ --levels 1 --iterations 0" + start);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(nlohmann::json::parse(slurp(folder / "b_report.json"))["options"]["init"].size(), 2u);
  const std::vector<float> before = read_displacement((folder / "a_1Warp.nii.gz").string()).planes;
  const std::vector<float> after = read_displacement((folder / "b_1Warp.nii.gz").string()).planes;
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(before[i], after[i], 1e-5);
  expect_refusal(run(fluidreg + images + "-o out_ --linear rigid" + start), "--linear rigid");
  expect_refusal(run(fluidreg + images + "-o out_ --symmetric" + start), "velocity");
  expect_refusal(
      run(fluidreg + images + "-o out_ --init a_0GenericAffine.mat --init a_1Warp.nii.gz"),
      "list the field first");
  expect_refusal(run(fluidreg + images + "-o out_ --init moments --init a_1Warp.nii.gz"),
                 "--init takes one start");
  expect_refusal(run(fluidreg + images + "-o a_" + start), "is also an input");
}

TEST_F(Fluidreg, TakesADotForTheFolder) {
  std::filesystem::copy(folder / "f.nii.gz", folder / "Warped.nii.gz");
  const std::string over = " -f Warped.nii.gz -m m.nii.gz --levels 1 --iterations 1 ";
  for (const std::string prefix : {".", "./", "sub/.."})
    expect_refusal(run(fluidreg + over + "-o " + prefix), "is also an input");
  std::ofstream(folder / "pairs.tsv") << "fixed\tmoving\toutput\nWarped.nii.gz\tm.nii.gz\t.\n";
  expect_refusal(run(fluidreg + " --pairs pairs.tsv"), "is also an input");
  EXPECT_TRUE(slurp(folder / "Warped.nii.gz") == slurp(folder / "f.nii.gz"));

  const Outcome o = run(fluidreg + images + "-o sub/. --levels 1 --iterations 1 --report both");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("written: sub/./ + "), std::string::npos) << o.err;
  for (const std::string& name : written)
    EXPECT_TRUE(std::filesystem::exists(folder / "sub" / name)) << name;
  EXPECT_EQ(run("cd sub && " + program_path("regtool") + " report . -o page.html").status, 0);
}

TEST_F(Fluidreg, WarnsOfOptionsThatTheMeasureDoesNotLookAt) {
  const std::string given =
      " --lncc-radius 3 --mind-radius 2 --mind-dilation 1 --bins 32 --estimator hard --cr-of-fixed "
      "--cr-border 4 --iterations 1 "
      "--levels 1 --linear none";
  const auto warnings = [&](const std::string& measure) {
    const Outcome o = run(fluidreg + images + "-o a_ -s " + measure + given);
    EXPECT_EQ(o.status, 0) << o.err;
    return o.err;
  };
  const std::string ssd = warnings("ssd"), nmi = warnings("nmi");
  for (const std::string option : {"--lncc-radius", "--mind-radius", "--mind-dilation", "--bins",
                                   "--estimator", "--cr-of-fixed", "--cr-border"})
    EXPECT_NE(ssd.find(option + " changes nothing with --similarity ssd"), std::string::npos)
        << ssd;
  EXPECT_NE(nmi.find("--lncc-radius"), std::string::npos) << nmi;
  EXPECT_EQ(nmi.find("--bins"), std::string::npos) << nmi;
  EXPECT_EQ(nmi.find("--estimator"), std::string::npos) << nmi;
  // The linear stage beside it looks at histograms, and the default at patches on coarse levels.
  const std::string call = fluidreg + images + "-o b_ --iterations 1 --outputs report ";
  const std::string lncc = run(call + "-v -s lncc --bins 32").err;
  EXPECT_EQ(lncc.find("changes nothing"), std::string::npos) << lncc;
  EXPECT_NE(lncc.find("nmi cost"), std::string::npos) << "of the linear stage: " << lncc;
  EXPECT_NE(lncc.find("lncc cost"), std::string::npos) << lncc;
  EXPECT_EQ(run(call + "--mind-radius 2 --linear none").err.find("changes nothing"),
            std::string::npos);
}

TEST_F(Fluidreg, RefusesUnusableCalls) {
  const std::string call = fluidreg + images + "-o out_ ";
  expect_refusal(run(fluidreg), "-f FILE");
  expect_refusal(run(call + "--model jelly"), "flow");
  expect_refusal(run(call + "--sigma-update -1"), "1.7vox");
  expect_refusal(run(call + "--sigma-update 0"), "sigma");
  expect_refusal(run(call + "--sigma-field 1cm"), "1.7vox");
  expect_refusal(run(call + "--demons esm"), "--model demons");
  expect_refusal(run(call + "--model fluid --sigma-field 1vox"), "--sigma-update");
  expect_refusal(run(call + "--velocity navier --sigma-update 2vox"), "--mu");
  expect_refusal(run(call + "--lambda 2"), "--velocity navier");
  expect_refusal(run(call + "--sigma-field 0.7x"), "1.7vox");
  expect_refusal(run(call + "--smoother fast"), "separable");
  expect_refusal(run(call + "--step 3"), "step");
  expect_refusal(run(call + "--velocity fast"), "navier");
  expect_refusal(run(call + "--model fluid --kl -1"), "--kl must lie");
  expect_refusal(run(call + "--model demons --kl 1"), "--model fluid");
  expect_refusal(run(call + "--model fluid --symmetric"), "--model flow");
  expect_refusal(run(call + "--model demons --demons angry"), "thirion");
  expect_refusal(run(call + "--model fluid --kl 0.05 --force-kernel guess"), "recompute");
  expect_refusal(run(call + "--model fluid --force-kernel recompute"), "add --kl W");
  expect_refusal(run(call + "--velocity navier --mu 0"), "mu");
  expect_refusal(run(call + "--velocity navier --model demons"), "gaussian");
  expect_refusal(run(call + "--iterations 1x2"), "per level");
  EXPECT_NE(run(fluidreg + " --help all").out.find("--sigma-update"), std::string::npos);
}

}  // namespace fluidreg_test
}  // namespace freeflow
