// --report html and regtool report as a user runs them.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>

#include <freeflow/io/image_file.h>

#include "apps/html_check.h"
#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace report_page_test {

using namespace test;
using nlohmann::ordered_json;

const std::string ffdreg = program_path("ffdreg");
const std::string fluidreg = program_path("fluidreg");
const std::string linreg = program_path("linreg");
const std::string regtool_report = program_path("regtool") + " report ";
const std::string quick = " -f f.nii -m m.nii --start none --linear none --levels 1 --iterations 5";

class ReportPage : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("f.nii", {26, 24, 18}, 0);
    write("m.nii", {24, 26, 20}, 2);
  }
  void write(const std::string& name, Extent extent, double shift_mm,
             const Eigen::Vector3d& spacing = {1.5, 1.6, 2.4}) const {
    Geometry g = oblique_geometry(extent, spacing);
    g.origin = Eigen::Vector3d::Zero();
    g.origin = -g.center();
    Context cpu;
    write_image((folder / name).string(), g,
                sample_world(cpu, g, [&](const Eigen::Vector3d& p) {
                  return head(p + shift_mm * Eigen::Vector3d(std::sin(0.1 * p.y()), 1, 0), 14);
                }).to_host(cpu));
  }
  std::string page(const std::string& name) const {
    std::string html = slurp(folder / name);
    expect_whole_page(html);
    return html;
  }
  ordered_json report(const std::string& name) const {
    return ordered_json::parse(slurp(folder / name));
  }
  void change(const std::string& name, const std::function<void(ordered_json&)>& edit) const {
    ordered_json r = report(name);
    edit(r);
    std::ofstream(folder / name) << r.dump();
  }
};

TEST_F(ReportPage, ShowsEveryPartInOneFile) {
  const Outcome o = run(ffdreg + quick + " --report both -o a_");
  ASSERT_EQ(o.status, 0) << o.err;
  const std::string html = page("a_report.html");
  for (const char* part :
       {"Fixed and warped", "flicker", "Edges of the fixed image", "Checkerboard", "Differences",
        "Deformation", "log-Jacobian", "<h2>Cost</h2>", "nonrigid 1", "Geometry", "26 × 24 × 18",
        "<pre>", "--report both", "MiB", "f.nii", "m.nii", "a_1Warp.nii.gz", "ffdreg (FreeFlow)"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  EXPECT_EQ(html.find("after the affine"), std::string::npos) << "there was none";
}

TEST_F(ReportPage, TheReportOpensWithItsSummaryAndEndsWithIterations) {
  ASSERT_EQ(run(ffdreg + quick + " -o a_").status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder / "a_report.html"));
  const ordered_json r = report("a_report.json");
  EXPECT_EQ(r.begin().key(), "summary");
  EXPECT_EQ(std::prev(r.end()).key(), "levels");
  EXPECT_EQ(r["levels"][0]["iterations_at_most"], 5);
  EXPECT_EQ(r["outputs"]["warp"], "a_1Warp.nii.gz");
  EXPECT_FALSE(r["outputs"].contains("page"));
  EXPECT_EQ(r["inputs"]["fixed"], ordered_json::array({"f.nii"}));
  EXPECT_EQ(r["inputs"]["folder"], std::filesystem::canonical(folder).string());
  EXPECT_NE(r["command"].get<std::string>().find("ffdreg -f f.nii -m m.nii"), std::string::npos);
  std::tm read{};
  const std::string date = r["date"];
  const char* const end = strptime(date.c_str(), "%Y-%m-%dT%H:%M:%SZ", &read);
  EXPECT_TRUE(end && *end == 0) << date;
  EXPECT_GT(r["similarity"]["after"].get<double>(), r["similarity"]["before"].get<double>());
  EXPECT_LE(r["displacement_mm"]["mean"], r["displacement_mm"]["p99"]);
  EXPECT_LE(r["displacement_mm"]["p99"], r["displacement_mm"]["max"]);
}

TEST_F(ReportPage, IsAllThatHtmlAsksFor) {
  ASSERT_EQ(run(fluidreg + quick + " --report html --outputs report -o a_").status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "a_report.html"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a_report.json"));
  expect_refusal(run(ffdreg + quick + " --report xml -o out_"),
                 "--report 'xml' is not one of json, html, both");
  expect_refusal(run(ffdreg + quick + " --report html --outputs warp -o out_"),
                 "--report html asks for what --outputs leaves out; add report to it");
  std::ofstream(folder / "pairs.tsv") << "fixed\tmoving\toutput\nf.nii\tm.nii\tout_\n";
  expect_refusal(run(ffdreg + " --pairs pairs.tsv --report html"), "--report both");
}

TEST_F(ReportPage, ACohortMakesAPageThatIsNotThereYet) {
  std::ofstream(folder / "pairs.tsv") << "fixed\tmoving\toutput\nf.nii\tm.nii\tb_\n";
  const std::string call =
      ffdreg + " --pairs pairs.tsv --start none --linear none --levels 1 --iterations 2";
  ASSERT_EQ(run(call).status, 0);
  EXPECT_NE(run(call).err.find("1 made before"), std::string::npos);
  const Outcome with_page = run(call + " --report both");
  EXPECT_EQ(with_page.err.find("1 made before"), std::string::npos) << with_page.err;
  page("b_report.html");
  std::filesystem::remove(folder / "b_report.html");
  ASSERT_EQ(run(regtool_report + "b_").status, 0);  // a pair's images are in the report too
  EXPECT_NE(run(call + " --report both").err.find("1 made before"), std::string::npos);
  ASSERT_EQ(run(call + " --bending 0.4").status, 0);
  const std::string older = page("b_report.html");
  ASSERT_EQ(run(call + " --bending 0.4 --report both").status, 0);
  EXPECT_FALSE(page("b_report.html") == older) << "it was of the result before";
}

TEST_F(ReportPage, IsMadeFromAFinishedRun) {
  ASSERT_EQ(run(ffdreg + quick + " --report both -o out/a_").status, 0);
  const std::string there = page("out/a_report.html");
  std::filesystem::create_directories(folder / "elsewhere");
  const Outcome o = run("cd elsewhere && " + regtool_report + "../out/a_ -o again.html");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(run(regtool_report + "out/a_").err, "regtool report: written: out/a_report.html\n");
  EXPECT_EQ(run(regtool_report + "out/a_ -q").err, "");
  const std::string again = page("elsewhere/again.html");
  EXPECT_NEAR(double(again.size()), double(there.size()), 0.02 * double(there.size()));
  EXPECT_EQ(again.substr(again.find("<header>"), 3000), there.substr(there.find("<header>"), 3000));
}

TEST_F(ReportPage, TakesWholeTransformsOfBidsNames) {
  ASSERT_EQ(run(fluidreg + quick + " --bids T1w:MNI --report both -o sub-01").status, 0);
  const std::string stem = "sub-01_from-T1w_to-MNI_mode-image_xfm";
  page(stem + ".html");
  std::filesystem::remove(folder / (stem + ".html"));
  const Outcome o = run(regtool_report + stem + ".json");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(page(stem + ".html").find("Deformation"), std::string::npos);
}

TEST_F(ReportPage, FindsTheReportOfBidsNamesByTheirPrefix) {
  const std::string call = linreg + " -f f.nii -m m.nii --levels 1 --search gradient -o b/sub-01",
                    stem = "b/sub-01_from-T1w_to-MNI_mode-image_xfm";
  ASSERT_EQ(run(call + " --bids T1w:MNI").status, 0);
  for (const char* prefix : {"b/sub-01", "b/sub-01_"}) {
    const Outcome o = run(regtool_report + prefix);
    ASSERT_EQ(o.status, 0) << o.err;
    page(stem + ".html");
    std::filesystem::remove(folder / (stem + ".html"));
  }
  ASSERT_EQ(run("cd b && " + regtool_report + "sub-01").status, 0) << "in the folder itself";
  expect_refusal(run(regtool_report + "b/sub-0"), "there is no 'b/sub-0report.json'");
  expect_refusal(run(regtool_report + "b/sub-02_xfm.json"), "there is no 'b/sub-02_xfm.json'");
  ASSERT_EQ(run(call + " --bids T2w:MNI").status, 0);
  expect_refusal(run(regtool_report + "b/sub-01"),
                 "several runs had the prefix 'b/sub-01'; name one of '" + stem +
                     ".json', 'b/sub-01_from-T2w_to-MNI_mode-image_xfm.json'");
}

TEST_F(ReportPage, ShowsALinearRegistration) {
  ASSERT_EQ(
      run(linreg + " -f f.nii -m m.nii --levels 1 --search gradient --report both -o a_").status,
      0);
  const std::string html = page("a_report.html");
  EXPECT_EQ(html.find("<h2>Deformation</h2>"), std::string::npos);
  EXPECT_NE(html.find("affine 1"), std::string::npos);
  EXPECT_NE(html.find("descents from several starts"), std::string::npos);
  for (auto at = html.find("<td>"); at != std::string::npos; at = html.find("<td>", at + 1)) {
    int done = 0, most = 0, read = 0;
    std::sscanf(html.c_str() + at, "<td>%d of %d</td>%n", &done, &most, &read);
    EXPECT_EQ(read, 0) << "their iterations together may be more than one of them may take";
  }
  std::filesystem::remove(folder / "a_report.html");
  ASSERT_EQ(run(regtool_report + "a_").status, 0);
  page("a_report.html");
}

TEST_F(ReportPage, TakesThinAndConstantVolumes) {
  write("f.nii", {26, 24, 2}, 0);
  write("m.nii", {26, 24, 2}, 1);
  const Outcome o = run(fluidreg + quick + " --report both -o a_");
  ASSERT_EQ(o.status, 0) << o.err;
  page("a_report.html");
  const Geometry g = read_geometry((folder / "f.nii").string());
  std::vector<float> nothing(g.extent.count(), 7);
  write_image((folder / "f.nii").string(), g, nothing);
  ASSERT_EQ(run(regtool_report + "a_").status, 0);
  page("a_report.html");
  std::fill(nothing.begin() + 1, nothing.end(), NAN);
  write_image((folder / "m.nii").string(), g, nothing);
  EXPECT_EQ(run(regtool_report + "a_").status, 0);
  page("a_report.html");
}

TEST_F(ReportPage, TheVerdictFollowsAPlantedFailure) {
  ASSERT_EQ(run(ffdreg + quick + " --report both -o a_").status, 0);
  EXPECT_EQ(page("a_report.html").find("Do not use this result"), std::string::npos);
  change("a_report.json", [](ordered_json& r) {
    r.erase("summary");  // as in an older report: then the figures speak
    r["jacobian"]["folded_voxels"] = 31;
  });
  ASSERT_EQ(run(regtool_report + "a_").status, 0);
  const std::string folded = page("a_report.html");
  EXPECT_NE(folded.find("Do not use this result as it is."), std::string::npos);
  EXPECT_NE(folded.find("31 voxels are folded"), std::string::npos);

  change("a_report.json", [](ordered_json& r) {
    r["jacobian"]["folded_voxels"] = 0;
    r["similarity"]["after"] = nullptr;
  });
  ASSERT_EQ(run(regtool_report + "a_").status, 0);
  const std::string unmeasured = page("a_report.html");
  EXPECT_NE(unmeasured.find("Look at this result before you use it."), std::string::npos);
  EXPECT_NE(unmeasured.find("Similarity could not be measured"), std::string::npos);

  write("m.nii", {26, 24, 18}, 0);
  Geometry far = read_geometry((folder / "m.nii").string());
  far.origin.x() += 28;  // of 39 mm
  write_image((folder / "m.nii").string(), far, read_image((folder / "m.nii").string()).voxels);
  ASSERT_EQ(run(ffdreg + quick + " -o b_").status, 0);
  EXPECT_EQ(report("b_report.json")["summary"]["grade"], "bad");
  EXPECT_NE(slurp(folder / "b_report.json").find("whether the start (--init) was right"),
            std::string::npos);
}

TEST_F(ReportPage, TheVerdictComparesWithTheAffineToo) {
  ASSERT_EQ(run(ffdreg + quick + " -o a_").status, 0);
  const auto said_of = [&](double affine, const char* init) {
    change("a_report.json", [&](ordered_json& r) {
      r.erase("summary");
      r["similarity"] = {{"before", 1.112}, {"affine", affine}, {"after", 1.156}};
      r["inputs"]["init"] = init;
    });
    EXPECT_EQ(run(regtool_report + "a_").status, 0);
    return page("a_report.html");
  };
  const std::string lost = said_of(1.196, "s.tfm");
  EXPECT_NE(lost.find("but was 1.196 after the affine: the displacement made the images match"),
            std::string::npos);
  EXPECT_NE(lost.find("Look at this result before you use it."), std::string::npos);
  EXPECT_EQ(said_of(1.157, "s.tfm").find("match less"), std::string::npos) << "by a little";

  const char* const turn = "less than 1.112 as the files lie: is the start the other way round?";
  const std::string turned = said_of(1.079, "s.tfm");
  EXPECT_NE(turned.find(turn), std::string::npos);
  EXPECT_NE(turned.find("Look at this result before you use it."), std::string::npos);
  EXPECT_EQ(said_of(1.079, "moments").find(turn), std::string::npos);
  EXPECT_EQ(said_of(1.110, "s.tfm").find(turn), std::string::npos) << "by a little";
}

TEST_F(ReportPage, RefusesWhatIsNotThere) {
  expect_refusal(run(regtool_report + "out_"), "there is no 'out_report.json'");
  expect_refusal(run(regtool_report), "name the registration's prefix");
  std::ofstream(folder / "x_report.json") << "{\"program\": \"nlmdenoise\"}";
  expect_refusal(run(regtool_report + "x_"),
                 "is not a report of ffdreg, fluidreg, linreg or freeflow.register");
  std::ofstream(folder / "x_report.json") << "{\"program\": ";
  expect_refusal(run(regtool_report + "x_"),
                 "is not a report of ffdreg, fluidreg, linreg or freeflow.register");

  ASSERT_EQ(run(ffdreg + quick + " --outputs warp,report -o a_").status, 0);
  std::filesystem::rename(folder / "f.nii", folder / "g.nii");
  expect_refusal(run(regtool_report + "a_"), "name it with --fixed FILE");
  EXPECT_EQ(run(regtool_report + "a_ --fixed g.nii").status, 0);
  expect_refusal(run(regtool_report + "a_ --fixed m.nii -o out.html"),
                 "does not lie on the grid of the fixed image");
  std::filesystem::rename(folder / "a_1Warp.nii.gz", folder / "w.nii.gz");
  expect_refusal(run(regtool_report + "a_ --fixed g.nii -o out.html"),
                 "a_1Warp.nii.gz' is not there");
  EXPECT_EQ(run(regtool_report + "a_ --fixed g.nii -t w.nii.gz -t a_0GenericAffine.mat").status, 0);
  std::filesystem::rename(folder / "g.nii", folder / "f.nii");
  ASSERT_EQ(run(ffdreg + quick + " --outputs warped,report -o c_").status, 0);
  expect_refusal(run(regtool_report + "c_ -o out.html"), "warp among --outputs");
}

TEST_F(ReportPage, RefusesImagesThatLieElsewhereThanTheRuns) {
  ASSERT_EQ(run(program_path("linreg") + " -f f.nii -m m.nii -o l_").status, 0);
  EXPECT_EQ(run(regtool_report + "l_").status, 0);
  const std::string call = regtool_report + "l_ -o out.html";
  expect_refusal(run(call + " --fixed m.nii"),
                 "'m.nii' does not lie where the fixed image of the run lay");
  write("m.nii", {24, 26, 20}, 2, {1.5, 1.6, 2.5});
  expect_refusal(run(call), "name the image that was registered with --moving FILE");
  write("m.nii", {24, 26, 20}, 2);
  HostImage turned = read_image((folder / "m.nii").string());
  turned.geometry.direction.col(1) *= -1;
  turned.geometry.direction.col(2) *= -1;
  write_image((folder / "m.nii").string(), turned.geometry, turned.voxels);
  expect_refusal(run(call), "m.nii' does not lie where the moving image of the run lay");
  write("m.nii", {24, 26, 21}, 2);
  expect_refusal(run(call), "m.nii' does not lie where the moving image of the run lay");
  write("m.nii", {24, 26, 20}, 2);
  EXPECT_EQ(run(call).status, 0);
}

}  // namespace report_page_test
}  // namespace freeflow
