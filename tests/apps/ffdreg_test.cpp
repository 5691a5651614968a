// ffdreg as a user runs it: good calls, bad calls, bad files, interruption, reproducibility.
#include <algorithm>
#include <nlohmann/json.hpp>

#include <freeflow/deform/field_operations.h>
#include <freeflow/deform/warp.h>
#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

#include "apps/ffdreg_test_support.h"
#include "apps/resampled.h"
#include "support/phantoms.h"

namespace freeflow {
namespace ffdreg_test {

using namespace test;

TEST_F(Ffdreg, WritesWhatItPromises) {
  const Outcome o = run(ffdreg + " -f f.nii.gz -m m.nii.gz -o new/folder/a_ --start none" + quick);
  ASSERT_EQ(o.status, 0) << o.err;
  expect_closing_words_alone(o);
  EXPECT_EQ(o.out, "");
  for (const std::string& name : written)
    EXPECT_TRUE(std::filesystem::exists(folder / "new/folder" / ("a_" + name))) << name;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "new/folder"), {}),
            std::ptrdiff_t(written.size()));

  const auto report = nlohmann::json::parse(slurp(folder / "new/folder/a_report.json"));
  for (const char* key :
       {"program", "version", "options", "device", "fixed", "moving", "warnings", "levels",
        "seconds", "memory_bytes", "overlap_fraction", "jacobian", "inverse_residual_voxels"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_EQ(report["options"]["spacing"], "8mm");
  EXPECT_EQ(report["levels"].size(), 2u);
  EXPECT_EQ(report["jacobian"]["folded_voxels"], 0);
  EXPECT_LT(report["inverse_residual_voxels"]["mean"].get<double>(), 0.05);
  const auto& iterations = report["levels"][1]["iterations"];
  EXPECT_LT(iterations.back()["cost"].get<double>(), iterations.front()["cost"].get<double>());

  const HostImage fixed = read_image((folder / "f.nii.gz").string()),
                  moving = read_image((folder / "m.nii.gz").string());
  EXPECT_TRUE(same_grid(read_image((folder / "new/folder/a_Warped.nii.gz").string()).geometry,
                        fixed.geometry));
  EXPECT_TRUE(
      same_grid(read_image((folder / "new/folder/a_InverseWarped.nii.gz").string()).geometry,
                moving.geometry));
  EXPECT_TRUE(same_grid(read_displacement((folder / "new/folder/a_1Warp.nii.gz").string()).geometry,
                        fixed.geometry));
  EXPECT_TRUE(read_affine((folder / "new/folder/a_0GenericAffine.mat").string())
                  .isApprox(Eigen::Affine3d::Identity()));
}

TEST_F(Ffdreg, OutputsAreOfTheSpaceOfTheImageOnWhoseGridTheyLie) {
  constexpr int mni152 = 4;
  HostImage fixed = read_image((folder / "f.nii.gz").string());
  fixed.geometry.space_code = mni152;
  write_image((folder / "mni.nii.gz").string(), fixed.geometry, fixed.voxels);
  const Outcome o = run(ffdreg + " -f mni.nii.gz -m m.nii.gz -o s_ --linear none --start none" +
                        " --levels 1 --iterations 1 --device cpu");
  ASSERT_EQ(o.status, 0) << o.err;
  const auto code_of = [&](const char* name) {
    return read_image((folder / name).string()).geometry.space_code;
  };
  EXPECT_EQ(code_of("s_Warped.nii.gz"), mni152);
  EXPECT_EQ(code_of("s_InverseWarped.nii.gz"), 1);
  EXPECT_EQ(read_displacement((folder / "s_1Warp.nii.gz").string()).geometry.space_code, mni152);
  ASSERT_EQ(run(program_path("regtool") + " apply -i m.nii.gz -r mni.nii.gz -o applied.nii.gz" +
                " -t s_1Warp.nii.gz -t s_0GenericAffine.mat")
                .status,
            0);
  EXPECT_EQ(code_of("applied.nii.gz"), mni152);
}

TEST_F(Ffdreg, GivesTheSameBytesWhateverTheThreads) {
  ASSERT_EQ(run(ffdreg + " -f f.nii.gz -m m.nii.gz -o a_ --device cpu --threads 1" + quick).status,
            0);
  ASSERT_EQ(run(ffdreg + " -f f.nii.gz -m m.nii.gz -o b_ --device cpu --threads 3" + quick).status,
            0);
  for (const std::string& name : written) {
    if (name == "report.json") continue;  // holds times
    EXPECT_EQ(slurp(folder / ("a_" + name)), slurp(folder / ("b_" + name))) << name;
  }
}

TEST_F(Ffdreg, TheWarpedImageIsTheMovingOneThroughTheFiles) {
  ASSERT_EQ(run(ffdreg + " -f f.nii.gz -m m.nii.gz -o a_" + quick).status, 0);
  Context cpu;
  const HostImage moving = read_image((folder / "m.nii.gz").string()),
                  warped = read_image((folder / "a_Warped.nii.gz").string());
  const HostField field = read_displacement((folder / "a_1Warp.nii.gz").string());
  const DisplacementField u(cpu, field.geometry, field.planes);
  const float fill = *std::min_element(moving.voxels.begin(), moving.voxels.end());
  const std::vector<float> again =
      warp(cpu, to_volume(cpu, moving), field.geometry, Eigen::Affine3d::Identity(), &u,
           Interpolation::linear, fill)
          .to_host(cpu);
  for (std::size_t i = 0; i < again.size(); ++i)
    ASSERT_NEAR(again[i], warped.voxels[i], 2e-3);  // of 50; the file holds mm in float
}

/// Through the affine and the inverse field, by an interpolation that is not the library's.
TEST_F(Ffdreg, TheInverseWarpedImageIsTheFixedOneThroughTheInverse) {
  const Eigen::Affine3d affine =
      Eigen::Translation3d(3, -2, 1) *
      Eigen::Affine3d(Eigen::AngleAxisd(0.3, Eigen::Vector3d(1, 2, -1).normalized()));
  write("turned.nii.gz", {36, 30, 22}, [&](const Eigen::Vector3d& p) {
    return 50 * std::exp(-0.3 * head(affine.inverse() * p, 18));
  });
  write_affine((folder / "start.tfm").string(), affine, Eigen::Vector3d::Zero());
  ASSERT_EQ(
      run(ffdreg + " -f f.nii.gz -m turned.nii.gz -o a_ --init start.tfm --start none" + quick)
          .status,
      0);
  const HostImage fixed = read_image((folder / "f.nii.gz").string()),
                  carried = read_image((folder / "a_InverseWarped.nii.gz").string());
  const HostField inverse = read_displacement((folder / "a_1InverseWarp.nii.gz").string());
  const reference::Displacement v(inverse.geometry, inverse.planes);
  const auto expected = [&](const Eigen::Vector3d& y) {
    const Eigen::Vector3d x = affine.inverse() * y;
    return reference::value_at(fixed.geometry, fixed.voxels, x + v(x));
  };
  EXPECT_GT(expect_resampled(carried, fixed, expected), carried.voxels.size() / 2);
  double moved = 0;
  for (const float component : inverse.planes) moved = std::max(moved, double(std::abs(component)));
  EXPECT_GT(moved, 1);
}

/// A rigid start that was composed into a field is a rigid start.
TEST_F(Ffdreg, AStartThatTurnsMayBeAField) {
  const Eigen::Affine3d turn(Eigen::AngleAxisd(2, Eigen::Vector3d(1, 2, -1).normalized()));
  write("turned.nii.gz", {36, 30, 22}, [&](const Eigen::Vector3d& p) {
    return 50 * std::exp(-0.3 * head(turn.inverse() * p, 18));
  });
  write_affine((folder / "start.tfm").string(), turn, Eigen::Vector3d::Zero());
  const std::string regtool = program_path("regtool");
  ASSERT_EQ(run(regtool + " compose -r f.nii.gz -t start.tfm -o start.nii.gz").status, 0);
  for (const std::string& program : {ffdreg, program_path("fluidreg")}) {
    const std::string call = program + " -f f.nii.gz -m turned.nii.gz --start none --linear none" +
                             " --levels 2 --iterations 10 -o ";
    ASSERT_EQ(run(call + "a_ --init start.tfm").status, 0);
    ASSERT_EQ(run(call + "b_ --init start.nii.gz").status, 0);
    EXPECT_TRUE(read_affine((folder / "b_0GenericAffine.mat").string()).isApprox(turn, 1e-4));
    const HostField expected = read_displacement((folder / "a_1InverseWarp.nii.gz").string()),
                    found = read_displacement((folder / "b_1InverseWarp.nii.gz").string());
    double sum = 0;
    for (std::size_t i = 0; i < expected.planes.size(); ++i)
      sum += std::abs(double(expected.planes[i]) - double(found.planes[i]));
    EXPECT_LT(sum / double(expected.planes.size()), 0.02) << program << ", voxels";
  }
}

TEST_F(Ffdreg, StartsWhereInitSays) {
  write("far.nii.gz", {36, 30, 22}, [](const Eigen::Vector3d& p) { return 50 - 5 * head(p, 18); },
        {300, -200, 100});
  expect_refusal(run(ffdreg + " -f f.nii.gz -m far.nii.gz -o out_" + quick), "overlap", 1);
  Eigen::Affine3d shift = Eigen::Affine3d::Identity();
  shift.translation() = Eigen::Vector3d(300, -200, 100);
  write_affine((folder / "start.tfm").string(), shift, Eigen::Vector3d::Zero());
  const std::string from_far = ffdreg + " -f f.nii.gz -m far.nii.gz -o ok_" + quick + " --init ";
  for (const std::string init : {"center", "start.tfm"}) {
    ASSERT_EQ(run(from_far + init).status, 0) << init;
    EXPECT_LT((read_affine((folder / "ok_0GenericAffine.mat").string()).translation() -
               shift.translation())
                  .norm(),
              4)
        << init;
  }
  EXPECT_EQ(run(ffdreg + " -f f.nii.gz -m far.nii.gz -o ok_ --init moments" + quick).status, 0);
  expect_refusal(run(ffdreg + " -f f.nii.gz -m m.nii.gz -o out_ --init missing.mat"),
                 "missing.mat");
}

TEST_F(Ffdreg, TakesMasksAlsoOnOtherGrids) {
  write("fm.nii.gz", {20, 20, 14}, [](const Eigen::Vector3d& p) { return p.norm() < 20; });
  write("mm.nii.gz", {36, 30, 22}, [](const Eigen::Vector3d& p) { return p.norm() < 24; });
  const Outcome o =
      run(ffdreg + " -f f.nii.gz -m m.nii.gz -o a_ --fixed-mask fm.nii.gz --moving-mask mm.nii.gz" +
          quick);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("warning: 'fm.nii.gz' lies on another grid"), std::string::npos) << o.err;
  write("none.nii.gz", {36, 30, 22}, [](const Eigen::Vector3d&) { return 0; });
  expect_refusal(run(ffdreg + " -f f.nii.gz -m m.nii.gz -o out_ --moving-mask none.nii.gz"),
                 "none.nii.gz");
}

TEST_F(Ffdreg, ReadsAConfigurationAndFlagsWin) {
  write_text("job.ini",
             "fixed = f.nii.gz\nmoving = m.nii.gz\nlevels = 1\niterations = 3\nspacing = "
             "10mm\nbending = 2\n");
  ASSERT_EQ(run(ffdreg + " --config job.ini -o a_ --bending 3").status, 0);
  const auto report = nlohmann::json::parse(slurp(folder / "a_report.json"));
  EXPECT_EQ(report["options"]["bending"], 3.0);
  EXPECT_EQ(report["levels"].size(), 1u);
  write_text("marked.ini", "\xef\xbb\xbf" + slurp(folder / "job.ini"));
  EXPECT_EQ(run(ffdreg + " --config marked.ini -o b_").status, 0) << "as editors of Windows write";
  write_text("quiet.ini", slurp(folder / "job.ini") + "quiet = true\n");
  const Outcome loud = run(ffdreg + " --config quiet.ini -v -o c_");
  EXPECT_EQ(loud.status, 0) << loud.err;
  EXPECT_NE(loud.err, "");
  EXPECT_EQ(run(ffdreg + " --config quiet.ini -o c_").err, "");
  expect_refusal(run(ffdreg + " --config quiet.ini -q -v -o out_"), "exclude each other");
  write_text("bad.ini", "levles = 1\n");
  expect_refusal(run(ffdreg + " --config bad.ini -f f.nii.gz -m m.nii.gz -o out_"), "levles");
  expect_refusal(run(ffdreg + " --config missing.ini -o out_"), "missing.ini");
}

TEST_F(Ffdreg, HelpVersionAndSchemesGoToStdout) {
  const Outcome help = run(ffdreg + " --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_NE(help.out.find("Example"), std::string::npos);
  EXPECT_NE(help.out.find("--spacing"), std::string::npos);
  for (const std::string& line : lines_of(help.out)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(help.out.find("--lncc-radius"), std::string::npos);
  EXPECT_NE(help.out.find("--help all"), std::string::npos);
  EXPECT_NE(run(ffdreg + " --help all").out.find("--lncc-radius"), std::string::npos);
  expect_refusal(run(ffdreg + " --help everything"), "--help all");
  EXPECT_NE(run(ffdreg + " --version").out.find("FreeFlow"), std::string::npos);
  const std::string schemes = run(ffdreg + " --list-schemes").out;
  for (const char* name : {"shared_atomic", "sort_and_count", "banded_flush", "conflict_free"})
    EXPECT_NE(schemes.find(name), std::string::npos) << name;
}

TEST_F(Ffdreg, EveryMeasureRunsAndIsNamedInTheProgress) {
  const std::string by = ffdreg + " -f f.nii.gz -m m.nii.gz -o a_ -v" + quick + " -s ";
  for (const char* options :
       {"mi", "cr", "ssd", "lncc", "lncc --lncc-radius 4", "mind",
        "mind --mind-radius 2 --mind-dilation 3", "nmi --estimator partial_volume",
        "mi --estimator hard", "nmi --estimator parzen_both --histogram-scheme sort_and_count",
        "cr --ratio-scheme shared_warp"}) {
    const Outcome o = run(by + options);
    EXPECT_EQ(o.status, 0) << options << '\n' << o.err;
    const std::string name = std::string(options).substr(0, std::string(options).find(' '));
    EXPECT_NE(o.err.find("  " + name + " "), std::string::npos) << o.err;
  }
}

TEST_F(Ffdreg, VerboseShowsALinePerLevel) {
  const Outcome o = run(ffdreg + " -f f.nii.gz -m m.nii.gz -o a_ -v --start none" + quick);
  EXPECT_NE(o.err.find("ffd 1/2"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("ffd 2/2"), std::string::npos) << o.err;
}

TEST_F(Ffdreg, ReportsTheDiscreteStart) {
  const auto start_of = [&](const std::string& word) {
    EXPECT_EQ(run(ffdreg + " -f f.nii.gz -m m.nii.gz -o a_ --start " + word + quick).status, 0);
    return nlohmann::json::parse(slurp(folder / "a_report.json"))["start"];
  };
  const auto start = start_of("discrete");
  EXPECT_TRUE(start["taken"].get<bool>());
  EXPECT_GT(start["largest_displacement_mm"].get<double>(), 0);
  EXPECT_LT(start["cost"]["after"].get<double>(), start["cost"]["before"].get<double>());
  EXPECT_FALSE(start_of("auto")["reason"].get<std::string>().empty());
  EXPECT_TRUE(start_of("none").is_null());
}

TEST_F(Ffdreg, RefusesUnusableCalls) {
  const std::string images = " -f f.nii.gz -m m.nii.gz -o out_";
  expect_refusal(run(ffdreg), "-f FILE");
  expect_refusal(run(ffdreg + " -f f.nii.gz -o out_"), "-m FILE");
  expect_refusal(run(ffdreg + " -f f.nii.gz -m m.nii.gz"), "-o PREFIX");
  expect_refusal(run(ffdreg + images + " --nonsense 3"), "nonsense");
  expect_refusal(run(ffdreg + images + " stray"), "--help");
  expect_refusal(run(ffdreg + images + " -s nim"), "nmi");
  expect_refusal(run(ffdreg + images + " --start far"), "discrete");
  expect_refusal(run(ffdreg + images + " --iterations 10xx5"), "200x100x50");
  expect_refusal(run(ffdreg + images + " --iterations 1x2"), "per level");
  expect_refusal(run(ffdreg + images + " --spacing -3mm"), "10mm");
  expect_refusal(run(ffdreg + images + " --spacing 3cm"), "10mm");
  expect_refusal(run(ffdreg + images + " --bins 5"), "bins");
  expect_refusal(run(ffdreg + images + " --levels 0"), "levels");
  expect_refusal(run(ffdreg + images + " --bending x"), "bending");
  expect_refusal(run(ffdreg + images + " --optimizer adam"), "lbfgs");
  expect_refusal(run(ffdreg + images + " --linear some"), "none");
  expect_refusal(run(ffdreg + images + " --device cuda:77"), "available: cpu");
  expect_refusal(run(ffdreg + images + " --histogram-scheme fast"), "--list-schemes");
  expect_refusal(run(ffdreg + images + " --ratio-scheme fast"), "--list-schemes");
  expect_refusal(run(ffdreg + images + " --estimator soft"), "partial_volume");
  expect_refusal(run(ffdreg + images + " --histogram-scheme banded"), "shared_atomic");
  expect_refusal(run(ffdreg + images + " -s lncc --lncc-radius 0"), "radius");
  expect_refusal(run(ffdreg + images + " -s mind --mind-dilation 17"), "--mind-dilation must lie");
  expect_refusal(run(ffdreg + images + " --bending inf"), "--bending must lie");
  expect_refusal(run(ffdreg + images + " --spacing 1e30mm"), "spacing");
  expect_refusal(run(ffdreg + images + " --config /tmp"), "/tmp");
  write_text("file", "");
  expect_refusal(run(ffdreg + " -f f.nii.gz -m m.nii.gz -o file/out_"), "file");
}

TEST_F(Ffdreg, DoesNotOverwriteItsInputs) {
  std::filesystem::copy(folder / "m.nii.gz", folder / "w_Warped.nii.gz");
  const std::string before = slurp(folder / "w_Warped.nii.gz");
  expect_refusal(run(ffdreg + " -f f.nii.gz -m w_Warped.nii.gz -o w_" + quick), "also an input");
  EXPECT_EQ(slurp(folder / "w_Warped.nii.gz"), before);
}

TEST_F(Ffdreg, TakesAFolderAsPrefixAndPathsThatAreNotUtf8) {
  const std::string odd = "m\xff.nii.gz";
  std::filesystem::copy(folder / "m.nii.gz", folder / odd);
  const Outcome o = run(ffdreg + " -f f.nii.gz -m '" + odd + "' -o ." + quick);
  ASSERT_EQ(o.status, 0) << o.err;
  for (const std::string& name : written)
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
}

TEST_F(Ffdreg, RefusesUnusableImages) {
  const std::string call = ffdreg + " -f f.nii.gz -o out/x_ -m ";
  expect_refusal(run(call + "missing.nii.gz"), "missing.nii.gz");
  write_text("text.nii.gz", "this is no image");
  expect_refusal(run(call + "text.nii.gz"), "text.nii.gz");
  const std::string whole = slurp(folder / "m.nii.gz");
  write_text("cut.nii.gz", whole.substr(0, whole.size() * 6 / 10));
  expect_refusal(run(call + "cut.nii.gz"), "file ends after");
  write("constant.nii.gz", {20, 20, 20}, [](const Eigen::Vector3d&) { return 7; });
  expect_refusal(run(call + "constant.nii.gz"), "constant", 1);
  write("nan.nii.gz", {20, 20, 20}, [](const Eigen::Vector3d&) { return NAN; });
  expect_refusal(run(call + "nan.nii.gz"), "nan.nii.gz");
  write("flat.nii.gz", {20, 20, 1}, [](const Eigen::Vector3d& p) { return p.x(); });
  expect_refusal(run(call + "flat.nii.gz"), "flat.nii.gz");
}

TEST_F(Ffdreg, NanVoxelsCountAsOutsideAndAreNamed) {
  int i = 0;
  write("holes.nii.gz", {36, 30, 22}, [&](const Eigen::Vector3d& p) {
    return ++i % 20 == 0 ? NAN : 50 * std::exp(-0.3 * head(p, 18));
  });
  const Outcome o = run(ffdreg + " -f f.nii.gz -m holes.nii.gz -o a_" + quick);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("1188 of 23760"), std::string::npos) << o.err;
  for (float v : read_displacement((folder / "a_1Warp.nii.gz").string()).planes)
    ASSERT_TRUE(std::isfinite(v));
  for (float v : read_image((folder / "a_Warped.nii.gz").string()).voxels)
    ASSERT_TRUE(std::isfinite(v));
}

TEST_F(Ffdreg, AControlSpacingBelowTheLeastIsSaid) {
  const std::string call = ffdreg + " -f f.nii.gz -m m.nii.gz -o a_ --iterations 1 --spacing ";
  const Outcome close = run(call + "1vox"), least = run(call + "2vox");
  EXPECT_NE(close.err.find("two voxels apart, the least there is; --spacing asks for less"),
            std::string::npos)
      << close.err;
  EXPECT_EQ(least.err.find("--spacing"), std::string::npos) << least.err;
}

TEST_F(Ffdreg, CtrlCLeavesNothing) {
  write("big.nii.gz", {96, 96, 90}, [](const Eigen::Vector3d& p) { return head(p, 50); });
  write("big2.nii.gz", {96, 96, 90}, [](const Eigen::Vector3d& p) { return head(0.9 * p, 50); });
  const std::string endless =
      " --device cpu --threads 1 --spacing 3vox --iterations 100000 --total-variation 0 "
      "--log-jacobian 0";
  const Outcome o = run("timeout --preserve-status -s INT 1 " + ffdreg +
                        " -f big.nii.gz -m big2.nii.gz -o out_" + endless);
  expect_refusal(o, "interrupted", 130);
}

}  // namespace ffdreg_test
}  // namespace freeflow
