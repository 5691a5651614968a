// atlas run again, as a user does.
#include <nlohmann/json.hpp>

#include <freeflow/io/field_file.h>

#include "apps/atlas_program.h"

namespace freeflow {
namespace atlas_test {

TEST_F(AtlasProgram, KilledAndStartedAgainGivesTheSameBits) {
  const std::string call = atlas + images() + quick + "-q";
  EXPECT_EQ(run(call + " -o said_").err, "");
  ASSERT_EQ(run(call + " -o undisturbed_").status, 0);
  int killed = 0;
  auto before = kept("out_");
  for (int n = 0; n < 4; ++n) {  // each as soon as one more file is kept, on a machine of any speed
    const bool ended =
        run("{ " + call + " -o out_ & while kill -0 $! && [ $(ls out_state | grep -vc tmp$) -le " +
            std::to_string(before.size()) + " ]; do sleep 0.01; done; kill -KILL $!; wait $!; }")
            .status == 0;
    killed += !ended;
    const auto now = kept("out_");
    for (const auto& [name, time] : now)
      EXPECT_TRUE(!before.contains(name) || before.at(name) == time) << name << " was made twice";
    // what came to the end all the same begins anew
    before = ended ? decltype(now){} : now;
  }
  EXPECT_GE(killed, 1);
  const Outcome last = run(call + " -o out_");
  ASSERT_EQ(last.status, 0) << last.err;
  for (const std::string& name : outputs)
    EXPECT_TRUE(slurp(folder / ("out_" + name)) == slurp(folder / ("undisturbed_" + name))) << name;
}

TEST_F(AtlasProgram, CtrlCSaysThatTheSameCommandGoesOn) {
  const std::string begun =
      atlas + images() + "--levels 2 --linear-search gradient --rounds 1x90 --enough 0 -o out_";
  const Outcome o = run("{ " + begun +
                        " & while kill -0 $! && ! ls out_state/*; do sleep 0.01; done 2>&1; "
                        "kill -INT $!; wait $!; }");
  EXPECT_EQ(o.status, 130) << o.err;
  EXPECT_EQ(o.err,
            "atlas: interrupted; what was done is kept, and the same command goes on from there\n");
  EXPECT_FALSE(kept("out_").empty());
}

TEST_F(AtlasProgram, SaysWhatIsLeftToDo) {
  const std::string call = atlas + images() + "-o a_" + quick;
  ASSERT_EQ(run(call).status, 0);
  const auto before = kept("a_");
  std::string plan = run(call + "--dry-run").out;
  EXPECT_NE(plan.find("kept from before: the linear stages and 3 rounds, which is all\n"),
            std::string::npos)
      << plan;
  EXPECT_NE(plan.find("about 0 s of computing"), std::string::npos) << plan;
  EXPECT_EQ(kept("a_"), before);
  plan = run(atlas + images() +
             "-o a_ --levels 2 --iterations 6x2 --linear-search gradient --rounds 1x3 --enough 0 "
             "--dry-run")
             .out;
  EXPECT_NE(plan.find("3 rounds; the work goes on from there\n"), std::string::npos) << plan;
  plan = run(call + "--dry-run --shape-step 0.5").out;
  EXPECT_NE(plan.find("and 0 rounds; the work goes on from there\n"), std::string::npos) << plan;
}

/// The same image under another name of the space that it lies in, and farther off.
void copy_image(const std::string& from, const std::string& to, int space_code, double shift_mm) {
  HostImage image = read_image(from);
  image.geometry.space_code = space_code;
  image.geometry.origin.z() += shift_mm;
  write_image(to, image.geometry, image.voxels, image.stored_type, 1);
}

TEST_F(AtlasProgram, TransformsFollowHeadersThatChange) {
  const std::string call = atlas + images() + "-o a_ --transforms" + quick;
  const auto affine = [&] { return slurp(folder / "a_s1_0GenericAffine.mat"); };
  ASSERT_EQ(run(call).status, 0);
  const std::string first = affine();
  const auto written = [&] { return std::filesystem::last_write_time(path("a_s1_1Warp.nii.gz")); };
  const auto then = written();
  ASSERT_EQ(run(call).status, 0);
  EXPECT_EQ(written(), then) << "it was there";
  ASSERT_EQ(run(atlas + images() + "-o '" + path("a_") + "' --transforms" + quick).status, 0);
  EXPECT_EQ(written(), then) << "by another name of its folder, too";
  for (const char* name : {"a_s1_0GenericAffine.mat", "a_s1_1InverseWarp.nii.gz"}) {
    const std::string whole = slurp(path(name));
    std::ofstream(path(name)) << std::string(whole.size(), 'x');
    ASSERT_EQ(run(call).status, 0);
    EXPECT_TRUE(slurp(path(name)) == whole) << name << " was another's";
  }
  for (const std::string name : {"s0.nii", "s1.nii", "s2.nii"})
    copy_image(path(name), path(name), 1, 128);
  ASSERT_EQ(run(call).status, 0);
  const Geometry made = read_geometry(path("a_template.nii.gz"));
  EXPECT_GT(made.origin.z(), 90) << "the template went along";
  EXPECT_TRUE(same_grid(read_displacement(path("a_s1_1Warp.nii.gz")).geometry, made));
  EXPECT_NE(affine(), first);
}

TEST_F(AtlasProgram, KeepsTheSpaceWhereItGoesOn) {
  constexpr int mni152 = 4;
  for (const std::string name : {"0", "1", "2"})
    copy_image(path("s" + name + ".nii"), path("t" + name + ".nii"), mni152, 0);
  const auto space = [&](const std::string& name) { return read_geometry(path(name)).space_code; };
  for (const auto& [call, code] :
       {std::pair{images() + "--start t0.nii -o a_ ", mni152},
        std::pair{std::string(" -i t0.nii t1.nii t2.nii -o b_ "), mni152},
        std::pair{std::string(" -i s0.nii t1.nii t2.nii -o c_ "), 1}}) {
    const std::string prefix = call.substr(call.rfind("-o ") + 3, 2);
    std::string whole = atlas;
    whole.append(call).append("--transforms").append(quick);
    ASSERT_EQ(run(whole).status, 0) << call;
    const std::string first = slurp(folder / (prefix + "template.nii.gz"));
    EXPECT_EQ(space(prefix + "template.nii.gz"), code) << call;
    ASSERT_EQ(run(whole).status, 0) << call;
    EXPECT_TRUE(slurp(folder / (prefix + "template.nii.gz")) == first) << call;
    EXPECT_EQ(space(prefix + "mask.nii.gz"), code) << call;
    const std::string subject = prefix == "a_" ? "s1" : "t1";
    EXPECT_EQ(read_displacement(path(prefix + subject + "_1Warp.nii.gz")).geometry.space_code, code)
        << call;
  }
}

}  // namespace atlas_test
}  // namespace freeflow
