// --pairs of the registration programs and of regtool apply, as a user runs them.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>

#include <apps/cohort.h>
#include <apps/images.h>
#include <apps/program.h>
#include <apps/threads.h>
#include <freeflow/io/image_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace cohort_test {

using namespace test;
using namespace apps;

const std::string fluidreg = program_path("fluidreg");
const std::string linreg = program_path("linreg");
const std::string regtool = program_path("regtool");
const std::string quick = " -s ssd --linear none --start none --levels 2 --iterations 3 ";

class Cohort : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    std::filesystem::create_directory(folder / "data");
    write("f.nii.gz", {26, 24, 20}, 0);
    write("m1.nii.gz", {24, 25, 21}, 1.5);
    write("m2.nii.gz", {25, 22, 20}, -1);
    write("mask.nii.gz", {26, 24, 20}, 0, 0.02);
  }

  void write(const std::string& name, Extent extent, double shift, double scale = 1) {
    Geometry g = oblique_geometry(extent, {1.9, 1.8, 2.4});
    g.origin = Eigen::Vector3d::Zero();
    g.origin = -g.center();
    Context cpu;
    const auto voxels = sample_world(cpu, g, [&](const Eigen::Vector3d& p) {
                          return scale * 50 * head(p + Eigen::Vector3d(shift, 0, 0), 18);
                        }).to_host(cpu);
    write_image((folder / "data" / name).string(), g, voxels, StoredType::float32, 1);
  }

  std::string table(const std::string& text) const {
    std::ofstream(folder / "data/pairs.tsv") << text;
    return " --pairs data/pairs.tsv ";
  }

  nlohmann::json report(const std::string& prefix) const {
    return nlohmann::json::parse(slurp(folder / (prefix + "report.json")));
  }

  void expect_same_files(const std::string& a, const std::string& b) const {
    const auto here = (folder / a).parent_path();
    const std::string name = std::filesystem::path(a).filename().string();
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(here)) {
      const std::string file = entry.path().filename().string();
      if (!file.starts_with(name) || file.ends_with("report.json")) continue;  // holds times
      EXPECT_EQ(slurp(entry.path()), slurp(folder / (b + file.substr(name.size())))) << file;
      ++files;
    }
    EXPECT_GE(files, 3) << a;
  }
};

const std::string three =
    "fixed\tmoving\toutput\tfixed_mask\tinit\n"
    "f.nii.gz\tm1.nii.gz\t../out/a_\t\t\n"
    "# a remark\n"
    "f.nii.gz\tm2.nii.gz\t../out/b_\t\tcenter\r\n"
    "f.nii.gz\tm2.nii.gz\t../out/c_\tmask.nii.gz\t\n";

TEST(RunBeside, HasAsManyThreadsAsTheCaller) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(before + 3);
  EXPECT_EQ(run_beside([] { return omp_get_max_threads(); }).get(), before + 3);
  omp_set_num_threads(before);
}

TEST_F(Cohort, GivesTheFilesOfSingleRuns) {
  const std::string mask = " --fixed-mask data/mask.nii.gz ", f = " -f data/f.nii.gz ",
                    m1 = f + "-m data/m1.nii.gz ", m2 = f + "-m data/m2.nii.gz ";
  // ffdreg goes the way of fluidreg.
  for (const std::string& call :
       {fluidreg + quick, linreg + " --levels 1 --search gradient --iterations 3 "}) {
    const Outcome o = run(call + table(three) + "--summary sums.tsv");
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_NE(o.err.find("3 pairs: 3 done, 0 made before, 0 failed"), std::string::npos) << o.err;
    ASSERT_EQ(run(call + m1 + "-o single/a_").status, 0);
    ASSERT_EQ(run(call + m2 + "-o single/b_ --init center").status, 0);
    std::string masked = call;
    masked.append(m2).append(mask).append("-o single/c_");
    ASSERT_EQ(run(masked).status, 0);
    for (const std::string name : {"a_", "b_", "c_"})
      expect_same_files("single/" + name, "out/" + name);
    const std::string sums = slurp(folder / "sums.tsv");
    EXPECT_EQ(sums.find("pair\toutput\tstate\tseconds\tverdict\tsentence\n1\t"), 0u);
    for (const std::string name : {"a_", "b_", "c_"}) {
      const auto said = report("out/" + name)["summary"];
      std::string columns = "\t";
      columns.append(said["grade"]).append("\t").append(said["verdict"]).append("\n");
      EXPECT_NE(sums.find(columns, sums.find("/" + name + "\tdone")), std::string::npos) << sums;
    }
    std::filesystem::remove_all(folder / "out");
    std::filesystem::remove_all(folder / "single");
  }
}

TEST_F(Cohort, SeveralAtATimeGiveTheSameFilesAndEndAsOneByOne) {
  std::string rows = "fixed\tmoving\toutput\n";
  for (int i = 0; i < 6; ++i)
    rows += "f.nii.gz\tm" + std::to_string(i == 4 ? 9 : i % 2 + 1) + ".nii.gz\t../OUT/p" +
            std::to_string(i) + "_\n";
  std::ofstream(folder / "data/m9.nii.gz") << "no image";
  const auto in = [&](const std::string& out) {
    std::string text = rows;
    for (std::size_t at = 0; (at = text.find("OUT")) != std::string::npos;)
      text.replace(at, 3, out);
    return table(text);
  };
  for (const std::string& call :
       {fluidreg + quick, linreg + " --levels 1 --search gradient --iterations 3 "}) {
    ASSERT_EQ(run(call + in("one") + "--jobs 1").status, 1);
    const Outcome o = run(call + in("several") + "--jobs 3 --summary sums.tsv");
    EXPECT_EQ(o.status, 1);
    EXPECT_NE(o.err.find("6 pairs: 5 done, 0 made before, 1 failed"), std::string::npos) << o.err;
    EXPECT_EQ(slurp(folder / "sums.tsv").find("\n5\tdata/../several/p4_\tfailed\t"),
              slurp(folder / "sums.tsv").find("\n5\t"));
    for (const int i : {0, 1, 2, 3, 5}) {
      const std::string name = "/p" + std::to_string(i) + "_";
      expect_same_files("one" + name, "several" + name);
    }
    std::filesystem::remove_all(folder / "one");
    std::filesystem::remove_all(folder / "several");
  }
  const Outcome idle = run(fluidreg + " -f data/f.nii.gz -m data/m1.nii.gz -o x_ --jobs 2");
  EXPECT_EQ(idle.status, 2);
  EXPECT_NE(idle.err.find("--jobs goes with --pairs"), std::string::npos) << idle.err;
}

TEST_F(Cohort, AFailureDoesNotEndTheOthersAndTheSameCommandGoesOn) {
  std::ofstream(folder / "data/m1.nii.gz") << "no image";
  const std::string call = fluidreg + table(three) + "--summary sums.tsv";
  Outcome o = run(call + quick);
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.err.find("fluidreg: pair 1/3 (data/../out/a_): cannot read 'data/m1.nii.gz'"),
            std::string::npos)
      << o.err;
  EXPECT_NE(o.err.find("2 done, 0 made before, 1 failed"), std::string::npos) << o.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "out/a_report.json"));
  EXPECT_NE(slurp(folder / "sums.tsv").find("\tfailed\t0\t\tcannot read"), std::string::npos);

  const auto says = [&](const std::string& options, const std::string& words) {
    const Outcome again = run(call + options);
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_NE(again.err.find(words), std::string::npos) << words << '\n' << again.err;
  };
  write("m1.nii.gz", {24, 25, 21}, 1.5);
  says(quick, "1 done, 2 made before");
  const std::string before = slurp(folder / "out/a_report.json");
  says(quick + " --threads 1 --device cpu --jobs 2 -v", "0 done, 3 made before");
  EXPECT_EQ(slurp(folder / "out/a_report.json"), before);
  write("m1.nii.gz", {24, 25, 21}, 1.4);  // other contents
  says(quick, "1 done, 2 made before");
  std::ofstream(folder / "out/b_1Warp.nii.gz") << "cut";
  std::filesystem::remove(folder / "out/c_Warped.nii.gz");
  says(quick, "2 done, 1 made before");
  says(quick + " --step 0.4", "3 done, 0 made before");
  EXPECT_EQ(report("out/a_")["made_from"]["options"]["step"], 0.4);
}

TEST_F(Cohort, LevelsThatAreGivenCountBeTheyTheDefaultOnes) {
  const std::string call = fluidreg + " -s ssd --linear none --start none --iterations 2 " +
                           table("fixed\tmoving\toutput\nf.nii.gz\tm1.nii.gz\t../out/a_\n");
  ASSERT_EQ(run(call).status, 0);
  const auto levels = [&] { return report("out/a_")["levels"].size(); };
  EXPECT_LT(levels(), 4u);
  Outcome o = run(call + "--levels 4");
  EXPECT_NE(o.err.find("1 done, 0 made before"), std::string::npos) << o.err;
  EXPECT_EQ(levels(), 4u);
  o = run(call + "--levels 4");
  EXPECT_NE(o.err.find("0 done, 1 made before"), std::string::npos) << o.err;
}

TEST_F(Cohort, AFixedImageThatCannotBeReadFailsAgainWhereItComesAgain) {
  std::ofstream(folder / "data/bad.nii.gz") << "no image";
  const Outcome o = run(fluidreg + quick +
                        table("fixed\tmoving\toutput\nbad.nii.gz\tm1.nii.gz\t../out/a_\n"
                              "f.nii.gz\tm1.nii.gz\t../out/b_\nbad.nii.gz\tm2.nii.gz\t../out/c_\n"
                              "f.nii.gz\tm2.nii.gz\t../out/d_\n"));
  EXPECT_EQ(o.status, 1) << o.err;
  EXPECT_NE(o.err.find("4 pairs: 2 done, 0 made before, 2 failed"), std::string::npos) << o.err;
}

TEST_F(Cohort, AFixedImageThatIsReplacedIsReadAgain) {
  CommonOptions pair;
  pair.fixed = {(folder / "data/f.nii.gz").string()};
  pair.moving = {(folder / "data/m1.nii.gz").string()};
  KeptImages kept;
  const Inputs first = read_inputs(pair, &kept), again = read_inputs(pair, &kept);
  EXPECT_EQ(first.kept_files, again.kept_files);
  write("f.nii.gz", {26, 24, 20}, 0.5);
  const Inputs replaced = read_inputs(pair, &kept);
  EXPECT_NE(replaced.kept_files, first.kept_files) << "nor is its pyramid taken";
  EXPECT_EQ(replaced.fixed_image().voxels, read_image(pair.fixed[0]).voxels);
  EXPECT_NE(replaced.fixed_image().voxels, first.fixed_image().voxels);
}

TEST_F(Cohort, ApplyTakesATableToo) {
  ASSERT_EQ(run(fluidreg + quick + "-f data/f.nii.gz -m data/m1.nii.gz -o warp/a_").status, 0);
  std::string rows =
      "input\treference\toutput\ttransform\ttransform2\n"
      "m1.nii.gz\tf.nii.gz\t../out/there.nii.gz\t../warp/a_1Warp.nii.gz\t"
      "[../warp/a_0GenericAffine.mat,0]\n"
      "f.nii.gz\tm1.nii.gz\t../out/back.nii.gz\t[../warp/a_0GenericAffine.mat,1]\t"
      "../warp/a_1InverseWarp.nii.gz\n"
      "none.nii.gz\tm1.nii.gz\t../out/none.nii.gz\t../warp/a_0GenericAffine.mat\t\n";
  const std::string call = regtool + " apply" + table(rows);
  Outcome o = run(call);
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(o.err.starts_with("regtool: warning: pair 3 (data/../out/none.nii.gz) will fail"));
  EXPECT_NE(o.err.find("regtool: pair 3/3 (data/../out/none.nii.gz): cannot read"),
            std::string::npos)
      << o.err;
  const std::string affine = "warp/a_0GenericAffine.mat";
  ASSERT_EQ(run(regtool +
                " apply -i data/m1.nii.gz -r data/f.nii.gz -o one.nii.gz "
                "-t warp/a_1Warp.nii.gz -t " +
                affine)
                .status,
            0);
  EXPECT_EQ(slurp(folder / "one.nii.gz"), slurp(folder / "out/there.nii.gz"));
  ASSERT_EQ(run(regtool + " apply -i data/f.nii.gz -r data/m1.nii.gz -o one.nii.gz -t [" + affine +
                ",1] -t warp/a_1InverseWarp.nii.gz")
                .status,
            0);
  EXPECT_EQ(slurp(folder / "one.nii.gz"), slurp(folder / "out/back.nii.gz"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out/none.nii.gz"));
  std::ranges::replace(rows, '\t', ',');  // [FILE,1] is one cell without quotes too
  table(rows);
  o = run(call);
  EXPECT_NE(o.err.find("0 done, 2 made before, 1 failed"), std::string::npos) << o.err;
  o = run(call + "--interpolation nearest");
  EXPECT_NE(o.err.find("2 done, 0 made before, 1 failed"), std::string::npos) << o.err;
  const Outcome both = run(call + "-i data/f.nii.gz");
  EXPECT_EQ(both.status, 2);
  EXPECT_NE(both.err.find("leave out -i, -r, -t and -o"), std::string::npos) << both.err;
  const Outcome jpeg = run(regtool + " apply" + table("input\treference\toutput\na\tb\tc.jpg\n"));
  EXPECT_EQ(jpeg.err.find("regtool: 'data/pairs.tsv' line 2: cannot write 'data/c.jpg'"), 0U);
}

TEST_F(Cohort, AnOutputThatAnotherCallReplacedIsMadeAgain) {
  const std::string call =
      regtool + " apply" + table("input\treference\toutput\nm1.nii.gz\tf.nii.gz\t../out.nii\n");
  ASSERT_EQ(run(call).status, 0);
  const std::string whole = slurp(folder / "out.nii");
  ASSERT_EQ(run(regtool + " apply -i data/m2.nii.gz -r data/f.nii.gz -o out.nii").status, 0);
  EXPECT_EQ(slurp(folder / "out.nii").size(), whole.size());
  const Outcome o = run(call);
  EXPECT_NE(o.err.find("1 done, 0 made before, 0 failed"), std::string::npos) << o.err;
  EXPECT_TRUE(slurp(folder / "out.nii") == whole);
}

TEST_F(Cohort, WhatIsDoneMayLieWhereNothingCanBeWritten) {
  // root may write anywhere, but for this
  const std::string bound =
      geteuid() == 0 ? "setpriv --bounding-set=-dac_override --inh-caps=-dac_override " : "";
  std::filesystem::create_directory(folder / "locked");
  const auto lock = [&](const std::string& name, bool locked) {
    using std::filesystem::perms;
    std::filesystem::permissions(folder / name, locked ? perms(0555) : perms(0755));
  };
  lock("locked", true);
  if (run(bound + "true").status != 0 || run(bound + "touch locked/a").status == 0)
    GTEST_SKIP() << "no folder is locked here";
  const std::string rows = "fixed\tmoving\toutput\nf.nii.gz\tm1.nii.gz\t../out/a_\n",
                    more = "f.nii.gz\tm2.nii.gz\t../out/b_\n",
                    apply =
                        "input\treference\toutput\ttransform\n"
                        "m1.nii.gz\tf.nii.gz\t../there/a.nii.gz\t../out/a_0GenericAffine.mat\n";
  ASSERT_EQ(run(fluidreg + quick + table(rows)).status, 0);
  ASSERT_EQ(run(regtool + " apply" + table(apply)).status, 0);
  lock("out", true);
  lock("there", true);
  Outcome o = run(bound + fluidreg + quick + table(rows));
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("0 done, 1 made before, 0 failed"), std::string::npos) << o.err;
  o = run(bound + regtool + " apply" + table(apply));
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("0 done, 1 made before, 0 failed"), std::string::npos) << o.err;
  o = run(bound + fluidreg + quick + table(rows + more));
  EXPECT_EQ(o.status, 1) << o.err;
  EXPECT_NE(o.err.find("cannot write into the folder 'data/../out'"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("0 done, 1 made before, 1 failed"), std::string::npos) << o.err;
  for (const char* name : {"locked", "out", "there"}) lock(name, false);
}

TEST_F(Cohort, ASignalEndsItCleanlyBetweenPairs) {
  write("large.nii.gz", {90, 90, 80}, 2);
  write("other.nii.gz", {90, 90, 80}, -2);
  const std::string call = fluidreg +
                           table(
                               "fixed\tmoving\toutput\nf.nii.gz\tm1.nii.gz\t../out/a_\n"
                               "large.nii.gz\tother.nii.gz\t../out/b_\n") +
                           "--device cpu --linear none --start none --levels 1 --iterations 400 ";
  const Outcome o = run("{ " + call +
                        "& pid=$!; for i in $(seq 2000); do [ -e out/a_report.json ] && break; "
                        "sleep 0.02; done; kill -TERM $pid; wait $pid; }");
  EXPECT_EQ(o.status, 143) << o.err;
  EXPECT_NE(o.err.find("1 of 2 pairs are done"), std::string::npos) << o.err;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out"))
    EXPECT_EQ(entry.path().filename().string().rfind("a_", 0), 0u) << entry.path();
}

TEST_F(Cohort, CellsMayStandInQuotes) {
  std::filesystem::rename(folder / "data/m1.nii.gz", folder / "data/m, 1.nii.gz");
  const Outcome o = run(linreg +
                        table("\"fixed\",\"moving\",\"output\"\r\n"
                              "\"f.nii.gz\",\"m, 1.nii.gz\" ,../out/a_\r\n") +
                        "-s ssd --levels 1 --iterations 3");
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "out/a_0GenericAffine.mat"));
}

TEST_F(Cohort, ABadTableIsRefusedBeforeAnythingRuns) {
  const std::string head = "fixed\tmoving\toutput\n", row = "f.nii.gz\tm1.nii.gz\t../out/a_\n";
  const std::pair<std::string, std::string> tables[] = {
      {"", "cannot read 'data/pairs.tsv'"},
      {head, "has no rows"},
      {"\xff\xfe" + head, "it is text in UTF-16; save it as UTF-8"},
      {slurp(folder / "data/f.nii.gz"), "'data/pairs.tsv': it is no table but holds bytes"},
      {"fixed\toutput\nf\to\n", "line 1: the column 'moving' is missing"},
      {"fixed\tmoving\toutput\tcolour\n" + row, "line 1: there is no column 'colour'"},
      {"fixed\tmoving\tfixed\toutput\n" + row, "line 1: the column 'fixed' is there twice"},
      {head + row + "f.nii.gz m1.nii.gz ../out/b_\n", "line 3: it has 1 cells for 3 columns"},
      {head + "\"f.nii.gz\tm1.nii.gz\ta_\n", "line 2: a cell begins with a quote that is not"},
      {head + "\n" + row + "f.nii.gz\t\t../out/b_\n", "line 4: the cell of 'moving' is empty"},
      {head + row + "f.nii.gz\tm2.nii.gz\t../out/../out/a_\n",
       "is also that of 'data/pairs.tsv' line 2"},
      {head + "f.nii.gz\tm1.nii.gz\ta_\nf.nii.gz\tm2.nii.gz\t../link/a_\n",
       "is also that of 'data/pairs.tsv' line 2"},
      {head + row + "f.nii.gz\t../out/a_Warped.nii.gz\t../out/b_\n", "line 3: the input"},
      {head + "f.nii.gz\tm1.nii.gz\ta_\nf.nii.gz\t../link/a_Warped.nii.gz\tb_\n",
       "line 3: the input"},
      {"fixed\tmoving\toutput\tinit\tinit2\nf.nii.gz\tm1.nii.gz\t../out/a_\tcenter\ta.mat\n",
       "line 2: --init takes one start"}};
  std::filesystem::create_directory_symlink("data", folder / "link");
  for (const auto& [text, words] : tables) {
    std::string call = fluidreg;
    call.append(table(text)).append(quick);
    expect_refusal(run(call), words);
  }
  const std::string good = table(head + row);
  expect_refusal(run(fluidreg + good + "-o out_"), "leave out -f, -m and -o");
  expect_refusal(run(fluidreg + good + "--outputs warp"), "add it to --outputs");
  expect_refusal(run(fluidreg + good + "-s nim "), "fluidreg: --similarity 'nim'");
  expect_refusal(run(fluidreg + " --pairs none.tsv"), "none.tsv");
  expect_refusal(run(fluidreg + " -f a -m b -o out_ --summary s.tsv"),
                 "--summary goes with --pairs");
  for (const char* taken : {"data/pairs.tsv", "link/m1.nii.gz", "out/a_report.json"}) {
    std::string call = fluidreg;
    call.append(good).append("--summary ").append(taken);
    expect_refusal(run(call), "is the table of the pairs or one of their files");
  }
  std::ofstream(folder / "call.ini") << "levels = 1\n";
  for (const char* taken : {"call.ini", "data/../call.ini"}) {
    std::string call = fluidreg;
    call.append(good).append("--config call.ini --summary ").append(taken);
    expect_refusal(run(call), "is the file of --config");
  }
  expect_refusal(run(fluidreg + good + quick + "--summary data/f.nii.gz/sums.tsv"),
                 "cannot make the folder 'data/f.nii.gz'");
  expect_refusal(
      run(regtool + " apply" + table("input\treference\toutput\nm1.nii.gz\tf.nii.gz\tpairs.tsv\n")),
      "an output is the table itself, 'data/pairs.tsv'");
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_F(Cohort, AnInterruptedRunLeavesNoSummaryOfAnEarlierOne) {
  write("f.nii.gz", {96, 96, 90}, 0);
  write("m1.nii.gz", {96, 96, 90}, 1.5);
  std::string rows = "fixed\tmoving\toutput\n";
  for (int i = 1; i <= 30; ++i) rows += "f.nii.gz\tm1.nii.gz\ta" + std::to_string(i) + "_\n";
  std::ofstream(folder / "sums.tsv") << "30\tdata/a30_\tdone\t3\t\n";
  const Outcome o = run("timeout --preserve-status -s INT 1 " + fluidreg + table(rows) +
                        "--summary sums.tsv --device cpu --threads 1");
  EXPECT_EQ(o.status, 130) << o.err;
  EXPECT_NE(o.err.find("of 30 pairs are done"), std::string::npos) << o.err;
  EXPECT_NE(slurp(folder / "sums.tsv").find("a30_\tnot done\t0\t\t\n"), std::string::npos)
      << slurp(folder / "sums.tsv");
}

/// A pair whose work is a function.
class Pretended : public PairRun {
 public:
  explicit Pretended(const std::function<void()>& work) : work_(work) {}
  bool made_already() override { return false; }
  void read() override {}
  std::function<void()> compute(Context&, bool) override {
    work_();
    return [] {};
  }
  PairVerdict verdict() const override { return {"look", "why"}; }

 private:
  std::function<void()> work_;
};

TEST_F(Cohort, TheSummaryHasOneCellForAName) {
  const std::string summary = (folder / "sums.tsv").string();
  const std::function<void()> work = [] {};
  const std::vector<CohortPair> pairs{{"a\tb\nc_", {}, [&](const std::string&, KeptImages&) {
                                         return std::make_unique<Pretended>(work);
                                       }}};
  EXPECT_EQ(run_cohort({"test", "cpu", 1, 1, Verbosity::quiet, summary}, pairs), done);
  const std::string all = slurp(summary);
  EXPECT_NE(all.find("\n1\ta?b?c_\tdone\t"), std::string::npos) << all;
}

TEST_F(Cohort, TheSummaryFollowsWhatHasEnded) {
  const std::string summary = (folder / "sums.tsv").string();
  std::string when_the_third_began;
  const std::function<void()> works[] = {
      [] {}, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); },
      [&] { when_the_third_began = slurp(summary); }};
  std::vector<CohortPair> pairs;
  for (const auto& work : works)
    pairs.push_back({"a_", {}, [&work](const std::string&, KeptImages&) {
                       return std::make_unique<Pretended>(work);
                     }});
  EXPECT_EQ(run_cohort({"test", "cpu", 1, 1, Verbosity::quiet, summary}, pairs), done);
  EXPECT_NE(when_the_third_began.find("1\ta_\tdone\t"), std::string::npos) << when_the_third_began;
  EXPECT_NE(when_the_third_began.find("3\ta_\tnot done\t0\t\t\n"), std::string::npos);
  const std::string all = slurp(summary);
  EXPECT_NE(all.find("\tlook\twhy\n", all.find("3\ta_\tdone")), std::string::npos) << all;
}

}  // namespace cohort_test
}  // namespace freeflow
