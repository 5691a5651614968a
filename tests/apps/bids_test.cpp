// BIDS names: their rules, and that each program writes what it names.
#include <cmath>
#include <set>

#include <apps/bids.h>
#include <freeflow/core/error.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transforms/transform_formats.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace bids_test {

using namespace test;
using namespace apps;

template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const InvalidArgument& e) {
    return e.what();
  }
  return "nothing was refused";
}

TEST(BidsNames, SpacesAreTwoLabels) {
  const BidsSpaces s = parse_bids("T1w:MNI152NLin2009cAsym");
  EXPECT_EQ(s.from, "T1w");
  EXPECT_EQ(s.to, "MNI152NLin2009cAsym");
  EXPECT_EQ(parse_bids("T1w:MNIPediatricAsym+5").to, "MNIPediatricAsym+5") << "fMRIPrep's cohorts";
  for (const std::string bad :
       {"", "T1w", ":", "T1w:", ":MNI", "T1-w:MNI", "T1w:MNI_2", "T1w:MNI:x", "a b:c", "ä:b"})
    EXPECT_NE(refusal([&] { parse_bids(bad); }).find("--bids '" + bad + "' is not two labels"),
              std::string::npos)
        << bad;
  EXPECT_NE(refusal([] { parse_bids("T1w:T1w"); }).find("one space twice"), std::string::npos);
}

TEST(BidsNames, PrefixesTakeTheRest) {
  EXPECT_EQ(bids_prefix("a.b/anat/sub-01"), "a.b/anat/sub-01");
  EXPECT_EQ(bids_prefix("out/sub-01_"), "out/sub-01");
  EXPECT_EQ(bids_prefix("any folder/sub-01_ses-2"), "any folder/sub-01_ses-2");
  for (const std::string bad :
       {"", "out/", ".", "..", "out/_", "out/sub-01.h5", "sub-01_T1w.nii.gz", "out/a_",
        "out/sub-01_T1w", "sub-01__", "sub-0.1"})
    EXPECT_NE(refusal([&] { bids_prefix(bad); }).find("such as out/sub-01"), std::string::npos)
        << bad;
}

TEST(BidsNames, TransformsAreFoundByTheirPrefix) {
  for (const std::string prefix : {"sub-01", "sub-01_", "sub-01_ses-2", "patient", "my_head_"}) {
    const std::string start = prefix.ends_with('_') ? prefix.substr(0, prefix.size() - 1) : prefix;
    const std::string name = start + bids_transform({"T1w", "MNI"}, ".json");
    EXPECT_TRUE(is_bids_transform(name, prefix, ".json")) << prefix;
    EXPECT_FALSE(is_bids_transform(name, prefix, ".h5")) << prefix;
    EXPECT_FALSE(is_bids_transform(name, prefix.substr(0, 3), ".json")) << prefix;
    EXPECT_FALSE(is_bids_transform("x" + name, prefix, ".json")) << prefix;
  }
}

TEST(BidsNames, ImagesKeepTheirSuffix) {
  const BidsSpaces s{"T1w", "MNI"};
  EXPECT_EQ(bids_transform(s, ".h5"), "_from-T1w_to-MNI_mode-image_xfm.h5");
  EXPECT_EQ(bids_warped(s, "in/sub-01_ses-2_T2w.nii.gz"), "_space-MNI_desc-warped_T2w.nii.gz");
  for (const std::string other : {"head.nii", "my-head.nii", "left_hand.nii.gz", "sub-01_.nii",
                                  "sub-01_T1w_brain.nii.gz", "sub-01_acq-_T1w.nii.gz"})
    EXPECT_EQ(bids_warped(s, other), "_space-MNI_desc-warped_T1w.nii.gz") << other;
}

TEST(BidsNames, ResampledImagesChangeTheirSpace) {
  const BidsSpaces s{"T1w", "MNI"};
  EXPECT_EQ(bids_resampled("out/", "in/sub-01_ses-2_T1w.nii.gz", s),
            "out/sub-01_ses-2_space-MNI_T1w.nii.gz");
  EXPECT_EQ(bids_resampled("/tmp", "sub-01_T1w.mha", s), "/tmp/sub-01_space-MNI_T1w.nii.gz");
  EXPECT_EQ(bids_resampled("out/sub-02", "sub-01_T1w.nii", s), "out/sub-02_space-MNI_T1w.nii.gz");
  EXPECT_EQ(bids_resampled("out/", "sub-01_hemi-L_space-T1w_res-2_label-GM_probseg.nii.gz", s),
            "out/sub-01_hemi-L_space-MNI_label-GM_probseg.nii.gz");
  EXPECT_EQ(bids_resampled("out/sub-01", "head.nii", s), "out/sub-01_space-MNI_T1w.nii.gz");
  EXPECT_NE(refusal([&] { bids_resampled("out/", "head.nii", s); }).find("no BIDS name"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              bids_resampled("out/sub-01", "head.nii", {"", "MNI"});
            }).find("no BIDS name to take the suffix from"),
            std::string::npos);
  EXPECT_NE(refusal([&] { bids_resampled("out/sub-01.nii", "sub-01_T1w.nii", s); }).find("-o"),
            std::string::npos);
}

TEST(BidsNames, ChainsLeadFromTheLastToTheFirst) {
  std::vector<std::string> warnings;
  const std::string there = "x/sub-01_from-T1w_to-MNI_mode-image_xfm.h5",
                    bold = "sub-01_task-rest_from-bold_to-T1w_mode-image_desc-x_xfm.txt",
                    points = "sub-01_from-MNI_to-T1w_mode-points_xfm.h5";
  BidsSpaces s = bids_spaces_of_chain({there, bold}, warnings);
  EXPECT_EQ(s.from + ":" + s.to, "bold:MNI");
  s = bids_spaces_of_chain({"[" + bold + ",1]", "[" + there + ",1]"}, warnings);
  EXPECT_EQ(s.from + ":" + s.to, "MNI:bold");
  s = bids_spaces_of_chain({"[" + there + ",0]"}, warnings);
  EXPECT_EQ(s.from + ":" + s.to, "T1w:MNI");
  s = bids_spaces_of_chain({points}, warnings);
  EXPECT_EQ(s.from + ":" + s.to, "T1w:MNI") << "points of MNI to T1w: images of T1w to MNI";
  for (const std::string other :
       {"a_1Warp.nii.gz", "[a_0GenericAffine.mat,1]", "[", "", "sub-01_from-T1w_mode-image_xfm.h5",
        "sub-01_from-a_to-b_T1w.nii", "sub-01_from-a_to-b_mode-mesh_xfm.h5"}) {
    s = bids_spaces_of_chain({other, bold}, warnings);
    EXPECT_EQ(s.from + ":" + s.to, "bold:") << other;
  }
  EXPECT_EQ(warnings.size(), 0u);
  bids_spaces_of_chain({bold, there}, warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("ends at points of bold"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("begins at points of MNI"), std::string::npos) << warnings[0];
  bids_spaces_of_chain({there, "[" + bold + ",1]"}, warnings);
  EXPECT_EQ(warnings.size(), 2u);
}

const std::string regtool = program_path("regtool");
const std::string there = "out/sub-1_from-T1w_to-MNI_mode-image_xfm",
                  back = "out/sub-1_from-MNI_to-T1w_mode-image_xfm";

class Bids : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("mni.nii.gz", {26, 28, 20}, 0);
    write("sub-1_T2w.nii.gz", {30, 26, 24}, 1.5);
  }

  void write(const std::string& name, Extent extent, double bend) const {
    Geometry g = oblique_geometry(extent, {2.3, 2.2, 2.8});
    g.origin = Eigen::Vector3d::Zero();
    g.origin = -g.center();
    Context cpu;
    const auto voxels = sample_world(cpu, g, [&](const Eigen::Vector3d& p) {
      return 100 * head(p + bend * Eigen::Vector3d(std::sin(0.1 * p.y()), 0.8, -0.6), 20);
    });
    write_image((folder / name).string(), g, voxels.to_host(cpu), StoredType::float32, 1);
  }
  HostImage read(const std::string& name) const { return read_image((folder / name).string()); }
  HostTransform transform(const std::string& name) const {
    return read_transform_file((folder / name).string(), TransformFormat::itk);
  }
  std::set<std::string> files(const std::string& in) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder / in))
      names.insert(entry.path().filename().string());
    return names;
  }
  /// The voxels of one image through two chains.
  void expect_same_image(const std::string& image, const std::string& reference,
                         const std::string& one, const std::string& two) const {
    const std::string apply = regtool + " apply -i " + image + " -r " + reference;
    ASSERT_EQ(run(apply + " -o one.nii.gz" + one).status, 0);
    ASSERT_EQ(run(apply + " -o two.nii.gz" + two).status, 0);
    const HostImage a = read("one.nii.gz"), b = read("two.nii.gz");
    ASSERT_EQ(a.voxels.size(), b.voxels.size());
    for (std::size_t i = 0; i < a.voxels.size(); ++i)
      ASSERT_NEAR(a.voxels[i], b.voxels[i], 2e-3) << "of 100: 1Warp holds mm in float";
  }
  /// A fixed point there and back.
  void expect_return() const {
    const HostTransform forth = transform(there + extension), home = transform(back + extension);
    for (const Eigen::Vector3d& p : {Eigen::Vector3d(5, -4, 3), Eigen::Vector3d(-8.5, 2, 6)}) {
      EXPECT_GT((map_point(forth, p) - p).norm(), 0.5);
      EXPECT_LT((map_point(home, map_point(forth, p)) - p).norm(), 0.1);
    }
  }

  const std::string images = " -q --device cpu -f mni.nii.gz -m sub-1_T2w.nii.gz ";
  const std::string quick = images + "--linear rigid --levels 2 --iterations 10x4 ";
  std::string extension = ".h5";
};

TEST_F(Bids, NonrigidProgramsWriteBothDirectionsWhole) {
  for (const std::string& program : {program_path("fluidreg"), program_path("ffdreg")}) {
    std::filesystem::remove_all(folder / "out");
    ASSERT_EQ(run(program + quick + "-o a_").status, 0);
    const Outcome o = run(program + quick + "-o out/sub-1 --bids T1w:MNI");
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(files("out"), (std::set<std::string>{"sub-1_from-T1w_to-MNI_mode-image_xfm.h5",
                                                   "sub-1_from-T1w_to-MNI_mode-image_xfm.json",
                                                   "sub-1_from-MNI_to-T1w_mode-image_xfm.h5",
                                                   "sub-1_space-MNI_desc-warped_T2w.nii.gz",
                                                   "sub-1_space-T1w_desc-warped_MNI.nii.gz"}));
    expect_return();
    expect_same_image("sub-1_T2w.nii.gz", "mni.nii.gz",
                      " -t a_1Warp.nii.gz -t a_0GenericAffine.mat", " -t " + there + ".h5");
    expect_same_image("mni.nii.gz", "sub-1_T2w.nii.gz",
                      " -t [a_0GenericAffine.mat,1] -t a_1InverseWarp.nii.gz",
                      " -t " + back + ".h5");
    EXPECT_EQ(read("out/sub-1_space-MNI_desc-warped_T2w.nii.gz").voxels,
              read("a_Warped.nii.gz").voxels);
    EXPECT_EQ(read("out/sub-1_space-T1w_desc-warped_MNI.nii.gz").voxels,
              read("a_InverseWarped.nii.gz").voxels);
  }
  const Outcome info = run(regtool + " info " + back + ".h5");
  for (const char* step : {"step 1     an affine", "step 2     a displacement field"})
    EXPECT_NE(info.out.find(step), std::string::npos) << info.out << info.err;
}

TEST_F(Bids, TheCommandsAtTheEndAreRight) {
  const std::string call = program_path("fluidreg") + " -v" + quick.substr(3);
  for (const std::string names : {"-o out/sub-1 --bids T1w:MNI", "-o out/a_"}) {
    const Outcome o = run(call + names);
    ASSERT_EQ(o.status, 0) << o.err;
    std::istringstream lines(o.err);
    int commands = 0;
    for (std::string line; std::getline(lines, line);) {
      const auto at = line.find("regtool apply");
      if (at == std::string::npos) continue;
      const std::string result = "result" + std::to_string(commands++) + ".nii.gz";
      line.replace(0, at + 7, regtool);
      const auto put = [&](const std::string& word, const std::string& instead) {
        line.replace(line.find(word), word.size(), instead);
      };
      put("-i LABELS", commands == 1 ? "-i sub-1_T2w.nii.gz" : "-i mni.nii.gz");
      put("-o OUT", "-o " + result);
      put("--interpolation labels", "");
      ASSERT_EQ(run(line).status, 0) << line;
    }
    ASSERT_EQ(commands, 2) << o.err;
    const bool bids = names.find("--bids") != std::string::npos;
    const std::string warped[] = {
        bids ? "out/sub-1_space-MNI_desc-warped_T2w.nii.gz" : "out/a_Warped.nii.gz",
        bids ? "out/sub-1_space-T1w_desc-warped_MNI.nii.gz" : "out/a_InverseWarped.nii.gz"};
    for (int i = 0; i < 2; ++i) {
      const HostImage a = read("result" + std::to_string(i) + ".nii.gz"), b = read(warped[i]);
      std::size_t differ = 0;  // the fill is another
      for (std::size_t v = 0; v < a.voxels.size(); ++v)
        differ += a.voxels[v] != 0 && std::abs(a.voxels[v] - b.voxels[v]) > 2e-3f;
      EXPECT_EQ(differ, 0u) << warped[i];
    }
  }
}

TEST_F(Bids, TheCommandsAtTheEndCanBePastedWhateverTheNames) {
  std::filesystem::rename(folder / "mni.nii.gz", folder / "m n'i.nii.gz");
  std::filesystem::rename(folder / "sub-1_T2w.nii.gz", folder / "a&b(1).nii.gz");
  const Outcome o = run(program_path("fluidreg") +
                        " --device cpu --linear rigid --levels 1 --iterations 1 "
                        "-f \"m n'i.nii.gz\" -m 'a&b(1).nii.gz' -o 'out (2)/a $b_'");
  ASSERT_EQ(o.status, 0) << o.err;
  int commands = 0;
  for (std::string line : lines_of(o.err)) {
    const auto at = line.find("regtool apply");
    if (at == std::string::npos) continue;
    line.replace(at, 7, regtool).replace(line.find("LABELS"), 6, "'a&b(1).nii.gz'");
    line.replace(line.find("--interpolation labels"), 22, "").replace(line.find("OUT"), 3, "o.nii");
    const Outcome pasted = run(line);
    EXPECT_EQ(pasted.status, 0) << line << '\n' << pasted.err;
    EXPECT_EQ(line.find(" ["), std::string::npos) << "zsh looks for files of that name: " << line;
    ++commands;
  }
  EXPECT_EQ(commands, 2) << o.err;
}

TEST_F(Bids, LinregWritesText) {
  const Outcome o =
      run(program_path("linreg") + images + "--dof 6 --levels 2 -o out/sub-1_ --bids T1w:MNI");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(files("out"), (std::set<std::string>{"sub-1_from-T1w_to-MNI_mode-image_xfm.txt",
                                                 "sub-1_from-T1w_to-MNI_mode-image_xfm.json",
                                                 "sub-1_from-MNI_to-T1w_mode-image_xfm.txt",
                                                 "sub-1_space-MNI_desc-warped_T2w.nii.gz",
                                                 "sub-1_space-T1w_desc-warped_MNI.nii.gz"}));
  extension = ".txt";
  expect_return();
  // Fields are what --outputs leaves out; the transform itself is always written.
  const Outcome some =
      run(program_path("linreg") + images +
          "--dof 6 --levels 2 -o some/sub-1_ --bids T1w:MNI --outputs report,warped");
  ASSERT_EQ(some.status, 0) << some.err;
  EXPECT_EQ(files("some"), (std::set<std::string>{"sub-1_from-T1w_to-MNI_mode-image_xfm.txt",
                                                  "sub-1_from-T1w_to-MNI_mode-image_xfm.json",
                                                  "sub-1_space-MNI_desc-warped_T2w.nii.gz"}));
}

TEST_F(Bids, RegtoolNamesByTheTransforms) {
  ASSERT_EQ(run(program_path("fluidreg") + quick + "-o a_").status, 0);
  const std::string chain = " -t a_1Warp.nii.gz -t a_0GenericAffine.mat",
                    convert = regtool + " convert --bids T1w:MNI -o out/sub-1 --to ";
  ASSERT_EQ(run(convert + "itk" + chain).status, 0);
  ASSERT_EQ(run(convert + "itk -t a_0GenericAffine.mat").status, 0);
  ASSERT_EQ(run(convert + "freesurfer -t a_0GenericAffine.mat --fixed mni.nii.gz --moving "
                          "sub-1_T2w.nii.gz")
                .status,
            0);
  for (const std::string end : {".h5", ".txt", ".lta"})
    EXPECT_TRUE(std::filesystem::exists(folder / (there + end))) << end;

  const std::string apply = regtool + " apply -r mni.nii.gz --bids -o out/ -i sub-1_T2w.nii.gz";
  Outcome o = run(apply + " -t " + there + ".h5");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_TRUE(std::filesystem::exists(folder / "out/sub-1_space-MNI_T2w.nii.gz"));
  o = run(regtool + " apply -r sub-1_T2w.nii.gz --bids -o out/sub-1 -i mni.nii.gz -t [" + there +
          ".txt,1]");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "out/sub-1_space-T1w_MNI.nii.gz")) << "swapped";
  o = run(apply + " -t " + there + ".h5 -t " + there + ".txt");
  EXPECT_EQ(o.status, 0);
  EXPECT_NE(o.err.find("check the order of -t"), std::string::npos) << o.err;
  o = run(convert + "itk --bids MNI:T1w -t " + there + ".h5");
  EXPECT_EQ(o.status, 2) << "--bids twice";
  o = run(regtool + " convert --to itk --bids MNI:T1w -o out/sub-1 -t " + there + ".txt");
  EXPECT_EQ(o.status, 0);
  EXPECT_NE(o.err.find("contradicts the names"), std::string::npos) << o.err;

  std::filesystem::rename(folder / "out", folder / "xfm");
  const std::string refused = regtool + " apply -r mni.nii.gz --bids -o out/sub-2 -i ";
  expect_refusal(run(refused + "sub-1_T2w.nii.gz" + chain), "the first -t");
  expect_refusal(run(refused + "mni.nii.gz a_Warped.nii.gz -t xfm" + there.substr(3) + ".h5"),
                 "two inputs the name");
}

TEST_F(Bids, UnusableNamesAreRefusedAndInputsProtected) {
  for (const std::string& program :
       {program_path("fluidreg"), program_path("ffdreg"), program_path("linreg")}) {
    expect_refusal(run(program + images + "-o out/sub-1 --bids T1-w:MNI"), "letters, digits and +");
    expect_refusal(run(program + images + "-o out/sub-1 --bids T1w"), "FROM:TO");
    expect_refusal(run(program + images + "-o out/ --bids T1w:MNI"), "start of a BIDS name");
    expect_refusal(run(program + images + "-o out.h5 --bids T1w:MNI"), "without an extension");
    std::filesystem::copy_file(folder / "sub-1_T2w.nii.gz",
                               folder / "sub-1_space-MNI_desc-warped_T2w.nii.gz",
                               std::filesystem::copy_options::overwrite_existing);
    expect_refusal(run(program + " -q -f mni.nii.gz -m sub-1_space-MNI_desc-warped_T2w.nii.gz "
                                 "-o sub-1 --bids T1w:MNI"),
                   "also an input");
  }
  const HostImage mni = read("mni.nii.gz");
  write_image((folder / "constant.nii.gz").string(), mni.geometry,
              std::vector<float>(mni.voxels.size(), 7), StoredType::float32, 1);
  expect_refusal(run(program_path("fluidreg") +
                     " -q -f mni.nii.gz -m constant.nii.gz -o out/sub-1 --bids T1w:MNI"),
                 "constant", 1);
  expect_refusal(run(regtool + " convert --to itk --bids T1w:T1w -o out -t a.mat"), "twice");
  expect_refusal(run(regtool + " convert --to itk --bids T1w:MNI -o out/x.h5 -t a.mat"),
                 "without an extension");
}

}  // namespace bids_test
}  // namespace freeflow
