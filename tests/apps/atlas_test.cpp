// atlas as a user runs it.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include <freeflow/atlas/template_image.h>
#include <freeflow/deform/warp.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/label_file.h>

#include "apps/atlas_program.h"

namespace freeflow {
namespace atlas_test {

TEST_F(AtlasProgram, WritesWhatItPromises) {
  const Outcome o = run(atlas + images() + labels() + "-o new/a_ --transforms" + quick);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, "");
  for (const char* words : {"atlas: the template of 3 subjects, by 3 rounds.\n  shape: moved by 0.",
                            " mm in the last round, 0.", "  match: correlation 0.9", "  time: ",
                            ", transforms ", "  written: new/a_template.nii.gz, mask.nii.gz, ",
                            ", three files of transforms per subject\n"})
    EXPECT_NE(o.err.find(words), std::string::npos) << words << " in " << o.err;
  const std::vector<std::string> said = lines_of(o.err);
  ASSERT_EQ(said.size(), 8u) << o.err;
  EXPECT_EQ(said[5], "an image of 's0' onto the template, and labels of the template back:");
  const auto run_of = [&](std::string command, const std::string& word, const std::string& file,
                          const std::string& out) {
    command.replace(command.find(word), word.size(), file);
    command.replace(command.find("OUT"), 3, out);
    return run(regtool + command.substr(command.find(" apply"))).status;
  };
  EXPECT_EQ(run_of(said[6], "IMAGE", "s0.nii", "there.nii"), 0) << said[6];
  EXPECT_EQ(run_of(said[7], "LABELS", "new/a_labels.nii.gz", "back.nii"), 0) << said[7];
  EXPECT_TRUE(same_grid(read_image(path("there.nii")).geometry, group_grid(24)));
  EXPECT_GT(alike("back.nii", "ls0.nii"), 0.8);
  const auto report = nlohmann::json::parse(slurp(folder / "new/a_report.json"));
  EXPECT_EQ(report["program"], "atlas");
  EXPECT_EQ(report["rounds"].size(), 3u);
  EXPECT_EQ(report["members"].size(), 3u);
  EXPECT_EQ(report["sharpening"], "none");
  EXPECT_GE(report["memory_bytes"]["predicted_device"], report["memory_bytes"]["peak_device"]);
  for (const auto& member : report["members"]) {
    EXPECT_GT(member["mean_dice_with_majority"].get<double>(), 0.9);
    EXPECT_GT(member["correlation"].get<double>(), 0.9);
  }
  const HostImage made = read_image(path("new/a_template.nii.gz"));
  EXPECT_TRUE(same_grid(made.geometry, group_grid(24)));
  const HostLabels majority = read_labels(path("new/a_labels.nii.gz"));
  const std::set<std::uint64_t> there(majority.labels.begin(), majority.labels.end());
  EXPECT_EQ(there, (std::set<std::uint64_t>{0, 3, 7}));
  EXPECT_NE(slurp(folder / "new/a_report.html").find("data:image/png;base64,"), std::string::npos);
}

TEST_F(AtlasProgram, AMemberRegisteredAgainGivesWhatIsStored) {
  const Outcome o =
      run(atlas + images() + "-o new/a_ --transforms -q --levels 2 --iterations 6x2 " +
          "--rounds 1x1 --enough 0");
  ASSERT_EQ(o.status, 0) << o.err;
  const Outcome again = run(
      fluidreg + " -f new/a_template.nii.gz -m s1.nii -o again_ -q --levels 2 --iterations 6x2");
  ASSERT_EQ(again.status, 0) << again.err;
  for (const std::string name : {"0GenericAffine.mat", "1Warp.nii.gz", "1InverseWarp.nii.gz"})
    EXPECT_TRUE(slurp(folder / ("again_" + name)) == slurp(folder / ("new/a_s1_" + name))) << name;
}

/// By the largest subject, and by the grid of --start.
TEST_F(AtlasProgram, PredictsMemoryWhateverTheOrderOfSubjects) {
  Context cpu;
  const HostImage whole = read_image(path("s2.nii"));
  Geometry grid = whole.geometry;
  grid.extent = {72, 72, 72};
  grid.spacing /= 3;
  write_image(path("fine.nii"), grid,
              warp(cpu, to_volume(cpu, whole), grid, Eigen::Affine3d::Identity(), nullptr,
                   Interpolation::linear, 0)
                  .to_host(cpu));
  const std::string once = " --levels 2 --iterations 2x1 --linear-search gradient --rounds 1 ";
  const Outcome o = run(atlas + " -i s0.nii fine.nii s1.nii -o f_" + once);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.err.find("than in the one before"), std::string::npos) << "there was no other round";
  const auto memory = nlohmann::json::parse(slurp(folder / "f_report.json"))["memory_bytes"];
  EXPECT_GE(memory["predicted_device"], memory["peak_device"]);
  const auto device_of = [&](const std::string& more) {
    const std::string plan = run(atlas + images() + "-o g_ --dry-run" + once + more).out;
    const std::size_t at = plan.find(": about ");
    return std::stod(plan.substr(at + 8));
  };
  EXPECT_GT(device_of(" --start fine.nii"), 5 * device_of(""));
}

TEST_F(AtlasProgram, SaysWhatItMakesOfASubject) {
  HostImage padded = read_image(path("s1.nii")), longer = read_image(path("s2.nii"));
  for (int i = 0; i < 24 * 24 * 6; ++i) padded.voxels[std::size_t(i)] = -3024;
  write_image(path("padded.nii"), padded.geometry, padded.voxels, StoredType::float32, 1);
  longer.geometry.spacing *= 10;  // of centimetres
  write_image(path("longer.nii"), longer.geometry, longer.voxels, StoredType::float32, 1);
  const Outcome o = run(atlas + " -i s0.nii padded.nii s1.nii longer.nii -o a_ --dry-run" + quick);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(lines_of(o.err).size(), 2u) << o.err;
  for (const char* words : {"'padded.nii' is padded with -3024, which counts as not measured\n",
                            "'longer.nii' is ", "are the lengths of one header in another unit?\n"})
    EXPECT_NE(o.err.find(words), std::string::npos) << words << " in " << o.err;
}

/// Mean over the template's mask.
double mean_inside(const std::string& image, const std::string& mask) {
  const std::vector<float> values = read_image(image).voxels, inside = read_image(mask).voxels;
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (inside[i] > 0.5f) sum += values[i], ++count;
  return sum / count;
}

TEST_F(AtlasProgram, ProbabilitiesAreMeansOfTheCarriedLabels) {
  const std::string call = atlas + images() + labels() + quick + "--probabilities ";
  ASSERT_EQ(run(call + "-o p_").status, 0);
  EXPECT_FALSE(std::filesystem::exists(path("p_probability_0.nii.gz"))) << "the rest to 1";
  const std::vector<float> of3 = read_image(path("p_probability_3.nii.gz")).voxels,
                           of7 = read_image(path("p_probability_7.nii.gz")).voxels,
                           agreement = read_image(path("p_agreement.nii.gz")).voxels;
  const HostLabels majority = read_labels(path("p_labels.nii.gz"));
  const auto report = nlohmann::json::parse(slurp(folder / "p_report.json"));
  EXPECT_EQ(report["labels"]["values"], (std::vector<int>{0, 3, 7}));
  int between = 0;
  for (std::size_t i = 0; i < of3.size(); ++i) {
    const float of0 = 1 - of3[i] - of7[i];
    EXPECT_GE(std::min({of0, of3[i], of7[i]}), -1e-5f);
    between += of3[i] > 0.01f && of3[i] < 0.99f;
    // where all subjects agree by far, so do both
    const float largest = std::max({of0, of3[i], of7[i]});
    if (largest < 0.95f) continue;
    EXPECT_EQ(majority.labels[i], largest == of3[i] ? 3u : largest == of7[i] ? 7u : 0u);
    EXPECT_EQ(agreement[i], 1.f);
  }
  EXPECT_GT(between, 100) << "shares between subjects and voxels, no votes";

  // two labels that are one to all of them: their maps add up to the one's
  for (int i = 0; i < subjects; ++i) {
    const HostLabels l = read_labels(path("ls" + std::to_string(i) + ".nii"));
    std::vector<float> one;
    for (const std::uint64_t label : l.labels) one.push_back(label ? -70000 : 0);
    write_image(path("ns" + std::to_string(i) + ".nii"), l.geometry, one, StoredType::int32, 1);
  }
  ASSERT_EQ(run(atlas + images() + "--labels ns0.nii ns1.nii ns2.nii --probabilities -o q_" + quick)
                .status,
            0);
  EXPECT_EQ(read_labels(path("q_labels.nii.gz")).stored_type, StoredType::int32);
  const std::vector<float> of_both = read_image(path("q_probability_-70000.nii.gz")).voxels;
  for (std::size_t i = 0; i < of_both.size(); ++i) EXPECT_NEAR(of_both[i], of3[i] + of7[i], 1e-5);
}

TEST_F(AtlasProgram, JacobiansAreThoseOfTheTransforms) {
  const std::string call = atlas + images() + "-o j_ --jacobians" + quick;
  ASSERT_EQ(run(call).status, 0);
  const std::string first = slurp(folder / "j_s1_LogJacobian.nii.gz");
  EXPECT_FALSE(std::filesystem::exists(path("j_s1_1Warp.nii.gz"))) << "nobody asked for it";
  const auto written = std::filesystem::last_write_time(path("j_s1_LogJacobian.nii.gz"));
  ASSERT_EQ(run(call).status, 0);
  EXPECT_EQ(std::filesystem::last_write_time(path("j_s1_LogJacobian.nii.gz")), written)
      << "it was there";

  // other options replace it, and these bring it back
  ASSERT_EQ(run(call + " --shape-step 0.5").status, 0);
  EXPECT_NE(slurp(folder / "j_s1_LogJacobian.nii.gz"), first);
  ASSERT_EQ(run(call + " --transforms").status, 0);
  EXPECT_TRUE(slurp(folder / "j_s1_LogJacobian.nii.gz") == first);

  ASSERT_EQ(run(regtool + " jacobian --log -r j_template.nii.gz -t j_s1_1Warp.nii.gz "
                          "-t j_s1_0GenericAffine.mat -o of_files.nii.gz")
                .status,
            0);
  const HostImage map = read_image(path("j_s1_LogJacobian.nii.gz")),
                  of_files = read_image(path("of_files.nii.gz"));
  EXPECT_TRUE(same_grid(map.geometry, read_geometry(path("j_template.nii.gz"))));
  double largest = 0;
  for (std::size_t i = 0; i < map.voxels.size(); ++i) {
    EXPECT_NEAR(map.voxels[i], of_files.voxels[i], 1e-3);
    largest = std::max(largest, double(std::abs(map.voxels[i])));
  }
  EXPECT_GT(largest, 0.05) << "the subjects differ";
}

TEST_F(AtlasProgram, JacobiansArePositiveWhereTheSubjectIsLarger) {
  AtlasSubject large = group_subject(1, 24);
  constexpr double scale = 1.15;
  large.geometry.spacing *= scale;
  large.geometry.origin *= scale;
  write_image(path("large.nii"), large.geometry, large.channels[0], StoredType::float32, 1);
  // both images pull on one velocity: the average, less sharp than a subject, is no larger for that
  const Outcome o = run(atlas + " -i s0.nii large.nii -o v_ --jacobians --symmetric" + quick);
  ASSERT_EQ(o.status, 0) << o.err;
  const double of_large = mean_inside(path("v_large_LogJacobian.nii.gz"), path("v_mask.nii.gz")),
               of_small = mean_inside(path("v_s0_LogJacobian.nii.gz"), path("v_mask.nii.gz"));
  EXPECT_NEAR(of_large, 1.5 * std::log(scale), 0.05);
  EXPECT_NEAR(of_small, -1.5 * std::log(scale), 0.05);
}

TEST_F(AtlasProgram, ProcessesOfMpiGiveTheSameBits) {
  if (run("mpirun --version").status != 0 || run("ldd " + atlas + " | grep -q libmpi").status != 0)
    GTEST_SKIP() << "no MPI";
  const std::string call =
      atlas + images() + labels() + quick + "-q --threads 1 --probabilities --jacobians";
  ASSERT_EQ(run(call + " -o one_").status, 0);
  // Open MPI's leaks are told from ours (leaks_of_others.txt) by whole stacks: its plugins are gone
  // when leaks are looked for, and were compiled without frame pointers
  const std::string whole_stacks = "ASAN_OPTIONS=$ASAN_OPTIONS:fast_unwind_on_malloc=0 ";
  const Outcome two =
      run(whole_stacks + "mpirun --allow-run-as-root --oversubscribe -n 2 " + call + " -o two_");
  ASSERT_EQ(two.status, 0) << two.err;
  for (const std::string name : {"template.nii.gz", "mask.nii.gz", "labels.nii.gz",
                                 "probability_7.nii.gz", "s2_LogJacobian.nii.gz"})
    EXPECT_TRUE(slurp(folder / ("one_" + name)) == slurp(folder / ("two_" + name))) << name;
}

TEST_F(AtlasProgram, TemplatesOfSubjectsMakeTheTemplateOfAGroup) {
  const AtlasSubject fourth = group_subject(3, 24);
  write_image(path("s3.nii"), fourth.geometry, fourth.channels[0], StoredType::float32, 1);
  const std::string each = " --linear rigid --transforms" + quick;
  ASSERT_EQ(run(atlas + " -i s0.nii s1.nii -o subjects/A/" + each).status, 0);
  ASSERT_EQ(run(atlas + " -i s2.nii s3.nii -o subjects/B/" + each).status, 0);
  const std::string of_group =
      atlas + " -i subjects/*/template.nii.gz -o group/ --transforms" + quick;
  for (int again = 0; again < 2; ++again) {
    const Outcome group = run(of_group);
    ASSERT_EQ(group.status, 0) << group.err;
  }
  std::set<std::string> names;
  const auto report = nlohmann::json::parse(slurp(folder / "group/report.json"));
  for (const auto& member : report["members"]) names.insert(member["name"]);
  EXPECT_EQ(names, (std::set<std::string>{"A", "B"})) << "files of one name: their folders' names";

  // the two maps as one: the time point in the group's space, sampled once
  const std::string chain =
      " -t group/A_1Warp.nii.gz -t group/A_0GenericAffine.mat "
      "-t subjects/A/s0_1Warp.nii.gz -t subjects/A/s0_0GenericAffine.mat ";
  ASSERT_EQ(run(regtool + " compose -r group/template.nii.gz" + chain + "-o whole.nii.gz").status,
            0);
  ASSERT_EQ(run(regtool + " apply -i s0.nii -r group/template.nii.gz -t whole.nii.gz -o there.nii")
                .status,
            0);
  const std::vector<float> made = read_image(path("group/template.nii.gz")).voxels,
                           mask = read_image(path("group/mask.nii.gz")).voxels,
                           there = read_image(path("there.nii")).voxels,
                           before = read_image(path("s0.nii")).voxels;
  EXPECT_GT(correlation_of(made, there, mask), 0.97);
  EXPECT_GT(1 - correlation_of(made, before, mask), 1.5 * (1 - correlation_of(made, there, mask)));
}

TEST_F(AtlasProgram, PicturesOfRoundsHaveTrueProportions) {
  for (const std::string name : {"s0", "s1"}) {  // 24 x 24 voxels of 1.5 mm, as 24 x 6
    const HostImage image = read_image(path(name + ".nii"));
    HostImage thick = image;
    thick.geometry.extent.y = 6;
    thick.geometry.spacing.y() *= 4;
    thick.voxels.clear();
    for (std::size_t i = 0; i < image.voxels.size(); ++i)
      if (i / 24 % 24 % 4 == 1) thick.voxels.push_back(image.voxels[i]);
    write_image(path("thick_" + name + ".nii"), thick.geometry, thick.voxels, StoredType::float32,
                1);
  }
  ASSERT_EQ(run(atlas + " -i thick_s0.nii thick_s1.nii -o p_ --levels 2 --iterations 6x2 "
                        "--linear-search gradient --rounds 2x1 --enough 0")
                .status,
            0);
  const std::string html = slurp(folder / "p_report.html");
  int pictures = 0;
  for (std::size_t at = 0; (at = html.find("px;width:", at)) != std::string::npos; ++at) {
    EXPECT_EQ(html.compare(at, 12, "px;width:260"), 0) << html.substr(at, 12);
    ++pictures;
  }
  EXPECT_EQ(pictures, 3 + 3);
}

TEST_F(AtlasProgram, ReadsATable) {
  std::ofstream(path("list.tsv")) << "name\timage\tmask\n"
                                     "first\ts0.nii\tms0.nii\n"
                                     "second\ts1.nii\tms1.nii\n";
  const Outcome o = run(atlas + " -i list.tsv -o t_ --statistic median --sharpen unsharp" + quick);
  ASSERT_EQ(o.status, 0) << o.err;
  const auto report = nlohmann::json::parse(slurp(folder / "t_report.json"));
  std::set<std::string> names;
  for (const auto& member : report["members"]) names.insert(member["name"]);
  EXPECT_EQ(names, (std::set<std::string>{"first", "second"}));
  EXPECT_NE(report["sharpening"], "none");
}

TEST_F(AtlasProgram, ReadsTablesAsSpreadsheetsAndRWriteThem) {
  const std::pair<const char*, const char*> tables[] = {
      {"mark.tsv",
       "\xef\xbb\xbfimage\tmask\t\r\ns0.nii\tms0.nii\t\r\n# no\r\ns1.nii\tms1.nii\t\r\n\t\t"},
      {"commas.csv", "image,name\ns0.nii,\"a, \"\"b\"\"\"\ns1.nii,c\n"},
      {"semicolons.csv", "name;image\nb;s0.nii\nc;s1.nii\n"},
      {"quoted.txt", "\"image\"\t\"name\"\n\"s0.nii\"\t\"b\"\n\"s1.nii\"\t\"c\"\n"},
      {"macintosh.tsv", "image\tlabels\rs0.nii\tls0.nii\rs1.nii\tls1.nii\r"}};
  for (const auto& [name, text] : tables) {
    std::ofstream(path(name)) << text;
    std::string call = atlas + " -i ";
    call.append(name).append(" -o out_ --dry-run").append(quick);
    const Outcome o = run(call);
    EXPECT_EQ(o.status, 0) << name << ": " << o.err;
    EXPECT_EQ(o.out.rfind("2 subjects", 0), 0u) << name << ": " << o.out;
    EXPECT_EQ(o.out.find("labels.nii.gz") != std::string::npos,
              std::string(name) == "macintosh.tsv")
        << name << ": " << o.out;
  }
  std::ofstream(path("wide.tsv")) << "\xff\xfei" << '\0';
  expect_refusal(run(atlas + " -i wide.tsv -o out_" + quick), "it is text in UTF-16");
}

TEST_F(AtlasProgram, SaysWhatItWouldDo) {
  const Outcome o = run(atlas + images() + "-o out_ --dry-run" + quick);
  EXPECT_EQ(o.status, 0) << o.err;
  for (const char* words :
       {"3 subjects", "; 1 process\n", "at most 3 rounds", "to be written: out_t",
        "host: about 1 MB in all", "disk for going on: about 2 MB\n"})
    EXPECT_NE(o.out.find(words), std::string::npos) << words << " in " << o.out;
  EXPECT_EQ(o.out.find("kept from before"), std::string::npos) << o.out;
  EXPECT_FALSE(std::filesystem::exists(path("out_state")));
}

TEST_F(AtlasProgram, WarnsOfWhatAnEarlierTemplateLeft) {
  const std::string call = atlas + quick + "-o a_ ";
  Outcome o = run(call + images() + labels() + "--probabilities --jacobians");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.err.find("of an earlier run"), std::string::npos) << o.err;
  for (const char* name : {"a_template2.nii.gz", "a_new_1Warp.nii.gz", "a_s1_Warped.nii.gz"})
    std::ofstream(path(name)) << "a";
  o = run(call + "-i s0.nii s1.nii");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("atlas: warning: of an earlier run, and no part of what is written now: "
                       "'a_agreement.nii.gz', 'a_labels.nii.gz', 'a_probability_3.nii.gz', "
                       "'a_probability_7.nii.gz', 'a_s0_LogJacobian.nii.gz', "
                       "'a_s1_LogJacobian.nii.gz', 'a_s2_LogJacobian.nii.gz', "
                       "'a_template2.nii.gz'; remove it, or take another prefix\n"),
            std::string::npos)
      << o.err;
}

TEST_F(AtlasProgram, DryRunsFindFilesThatAreCutOff) {
  const HostImage image = read_image(path("s1.nii")), of_labels = read_image(path("ls1.nii"));
  const auto write_half = [&](const std::string& name, const HostImage& whole) {
    write_image(path(name), whole.geometry, whole.voxels, whole.stored_type, 1);
    std::filesystem::resize_file(path(name), std::filesystem::file_size(path(name)) / 2);
  };
  write_half("half.nii.gz", image);
  write_half("lhalf.nii.gz", of_labels);
  const std::string rest = " -o out_ --dry-run" + quick;
  expect_refusal(run(atlas + " -i s0.nii half.nii.gz" + rest), "half.nii.gz");
  expect_refusal(run(atlas + " -i s0.nii s1.nii --labels ls0.nii lhalf.nii.gz" + rest),
                 "lhalf.nii.gz");
}

TEST_F(AtlasProgram, LabelsThatCannotBeReadAreSaidBeforeTheWork) {
  std::ofstream(path("bad.nii")) << slurp(folder / "ls1.nii").substr(0, 900);
  const std::string call = atlas + images() + "--labels ls0.nii bad.nii ls2.nii" + quick;
  expect_refusal(run(call + "-o out_"), "bad.nii");
  const Outcome o = run(call + "--keep-going -o kept_");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("warning: the labels of subject 's1' are left out: cannot read 'bad.nii'"),
            std::string::npos)
      << o.err;
  const auto report = nlohmann::json::parse(slurp(folder / "kept_report.json"));
  EXPECT_EQ(report["labels"]["subjects"], 2);
  for (const auto& member : report["members"])
    EXPECT_EQ(member.contains("mean_dice_with_majority"), member["name"] != "s1");
  const Outcome none =
      run(atlas + images() + "--labels bad.nii bad.nii bad.nii --keep-going -o none_" + quick);
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.err.find("agreement.nii.gz"), std::string::npos)
      << "what is not written is not named: " << none.err;
}

TEST_F(AtlasProgram, RefusesWhatItCannotUse) {
  const std::string out = " -o out_" + quick;
  expect_refusal(run(atlas), "-i LIST.tsv");
  expect_refusal(run(atlas + images()), "-o PREFIX");
  expect_refusal(run(atlas + images() + "-o out.nii.gz"),
                 "is the prefix of several files: -o out_");
  expect_refusal(run(atlas + " -i s0.nii" + out), "two subjects or more");
  expect_refusal(run(atlas + " -i s9_*.nii" + out), "there is no such file");
  expect_refusal(run(atlas + " -i s0.nii missing.nii" + out), "missing.nii");
  std::filesystem::create_directory(path("b"));
  std::filesystem::copy(path("s0.nii"), path("b/s0.nii"));
  expect_refusal(run(atlas + " -i s0.nii b/s0.nii" + out), "both have the name 's0'");
  expect_refusal(run(atlas + " -i s0.nii s1.nii ./s0.nii" + out), "'./s0.nii' is listed twice");
  HostImage none = read_image(path("s0.nii"));
  std::ranges::fill(none.voxels, 0);
  write_image(path("none.nii"), none.geometry, none.voxels);
  expect_refusal(run(atlas + images() + "--masks ls0.nii none.nii ls2.nii" + out),
                 "the mask 'none.nii' has no voxel above 0.5");
  expect_refusal(run(atlas + images() + "--labels ls0.nii" + out), "--labels names 1 files");
  std::filesystem::copy(path("s0.nii"), path("p_s1_LogJacobian.nii.gz"));
  expect_refusal(run(atlas + " -i p_s1_LogJacobian.nii.gz s1.nii -o p_ --jacobians" + quick),
                 "is also an input");
  expect_refusal(run(atlas + images() + "--probabilities" + out), "--probabilities are of labels");
  expect_refusal(run(atlas + images() + "--rounds x -o out_"), "--rounds 'x'");
  expect_refusal(run(atlas + images() + "--rounds 0x2 -o out_"), "--rounds must lie between");
  expect_refusal(run(atlas + images() + "--levels 1 -o out_"),
                 "no more numbers than --levels says: give both");
  expect_refusal(run(atlas + images() + "--statistic best" + out), "--statistic 'best'");
  expect_refusal(run(atlas + images() + "--model ffd --symmetric" + out), "--model flow");
  expect_refusal(run(atlas + images() + "--trim 0.2" + out), "add --statistic trimmed");
  std::ofstream(path("bad.tsv")) << "picture\ns0.nii\n";
  expect_refusal(run(atlas + " -i bad.tsv" + out), "column 'picture'");
  const std::string of_bad_table = atlas + " -i bad.tsv" + out;
  for (const auto& [text, words] :
       {std::pair{"image\tlabels\timage\ns0.nii\tls0.nii\ts1.nii\n", "'image' is there twice"},
        std::pair{"image\tmask\ns0.nii\tms0.nii\ns1.nii\n", "line 3: it has 1 cells for 2 columns"},
        std::pair{"image\tchannel2\ns0.nii\ts1.nii\ns2.nii\t\n", "line 3 lacks an image"},
        std::pair{"image\n", "has no rows"}}) {
    std::ofstream(path("bad.tsv")) << text;
    expect_refusal(run(of_bad_table), words);
  }
  const Geometry other = group_grid(20);
  write_image(path("small.nii"), other, std::vector<float>(other.extent.count(), 1),
              StoredType::uint8, 1);
  expect_refusal(run(atlas + " -i s0.nii s1.nii --labels ls0.nii small.nii" + out),
                 "another grid than 's1.nii'");
  const AtlasSubject s = group_subject(1, 24);
  std::vector<float> inverse;
  for (const float v : s.channels[0]) inverse.push_back(v > 0.5f ? 20 / (1 + v * v) : 0);
  write_image(path("t2.nii"), s.geometry, inverse, StoredType::float32, 1);
  const Outcome contrast = run(atlas + " -i s0.nii t2.nii -o t2_" + quick);
  EXPECT_EQ(contrast.status, 1);
  EXPECT_NE(contrast.err.find("one contrast"), std::string::npos) << contrast.err;
  write_image(path("flat.nii"), s.geometry, std::vector<float>(inverse.size(), 3),
              StoredType::float32, 1);
  const Outcome left = run(atlas + " -i s0.nii flat.nii s1.nii --keep-going -o left_" + quick);
  EXPECT_EQ(left.status, 0) << left.err;
  EXPECT_NE(left.err.find("atlas: warning: left out: subject 'flat' has one intensity alone"),
            std::string::npos)
      << left.err;
  EXPECT_NE(slurp(folder / "left_report.html").find("<h1>Template of 2 subjects</h1>"),
            std::string::npos);
  const Outcome without =
      run(atlas + " -i s0.nii missing.nii s1.nii --keep-going -o kept_" + quick);
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_NE(without.err.find("'missing' is left out"), std::string::npos) << without.err;
}

}  // namespace atlas_test
}  // namespace freeflow
