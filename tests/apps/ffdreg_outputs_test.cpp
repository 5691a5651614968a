// What ffdreg writes where less, or something else, than everything is asked for.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include <freeflow/deform/field_algebra.h>
#include <freeflow/deform/field_operations.h>
#include <freeflow/io/field_file.h>

#include "apps/ffdreg_test_support.h"

namespace freeflow {
namespace ffdreg_outputs_test {

using namespace test;

TEST_F(Ffdreg, WritesTheOutputsThatAreAskedFor) {
  const std::string call = ffdreg + " -f f.nii.gz -m m.nii.gz --start none" + quick;
  ASSERT_EQ(run(call + " -o all/a_").status, 0);
  const auto files = [&](const std::string& name) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder / name))
      names.insert(entry.path().filename().string());
    return names;
  };
  const Outcome one = run(call + " --outputs warp,report -o one/a_");
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_NE(one.err.find("labels of the moving image onto the fixed one's grid:\n"),
            std::string::npos);
  EXPECT_EQ(files("one"),
            (std::set<std::string>{"a_0GenericAffine.mat", "a_1Warp.nii.gz", "a_report.json"}));
  EXPECT_FALSE(nlohmann::json::parse(slurp(folder / "one/a_report.json"))
                   .contains("inverse_residual_voxels"));  // what is not asked for is not computed
  ASSERT_EQ(run(call + " --outputs warped,inversewarped -o two/a_").status, 0);
  EXPECT_EQ(files("two"), (std::set<std::string>{"a_0GenericAffine.mat", "a_InverseWarped.nii.gz",
                                                 "a_Warped.nii.gz"}));
  for (const std::string name :
       {"one/a_1Warp.nii.gz", "two/a_Warped.nii.gz", "two/a_InverseWarped.nii.gz"})
    EXPECT_EQ(slurp(folder / name), slurp(folder / "all" / name.substr(4))) << name;
  ASSERT_EQ(run(call + " --outputs inverse --bids T1w:MNI -o three/sub-1").status, 0);
  EXPECT_EQ(files("three"), std::set<std::string>{"sub-1_from-MNI_to-T1w_mode-image_xfm.h5"});
  expect_refusal(run(call + " --outputs warp,jacobian -o out_"),
                 "--outputs 'jacobian' is not one of all, warp, inverse, warped, inversewarped, "
                 "report, lattice");
}

TEST_F(Ffdreg, ControlPointsServeInPlaceOfTheField) {
  const std::string call =
      ffdreg + " -f f.nii.gz -m m.nii.gz --start none --log-jacobian 1" + quick;
  const Outcome o = run(call + " --outputs all,lattice -o a_");
  ASSERT_EQ(o.status, 0) << o.err;
  const Outcome alone = run(call + " --outputs lattice -o b_");
  ASSERT_EQ(alone.status, 0) << alone.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "b_1Warp.nii.gz"));
  EXPECT_TRUE(slurp(folder / "a_1BSpline.h5") == slurp(folder / "b_1BSpline.h5"));
  EXPECT_LT(std::filesystem::file_size(folder / "a_1BSpline.h5"),
            std::filesystem::file_size(folder / "a_1Warp.nii.gz") / 4);  // small: much is border
  EXPECT_NE(alone.err.find("-t b_1BSpline.h5 -t b_0GenericAffine.mat"), std::string::npos)
      << alone.err;
  const std::string there = program_path("regtool") + " apply -i m.nii.gz -r f.nii.gz -o ";
  ASSERT_EQ(run(there + "spline.nii.gz -t a_1BSpline.h5 -t a_0GenericAffine.mat").status, 0);
  ASSERT_EQ(run(there + "field.nii.gz -t a_1Warp.nii.gz -t a_0GenericAffine.mat").status, 0);
  const std::vector<float> by_spline = read_image((folder / "spline.nii.gz").string()).voxels,
                           by_field = read_image((folder / "field.nii.gz").string()).voxels;
  const auto [least, most] = std::ranges::minmax(by_field);
  for (std::size_t i = 0; i < by_field.size(); ++i)
    ASSERT_NEAR(by_spline[i], by_field[i], 1e-3 * (most - least)) << i;
  const Outcome again = run(call + " --init a_1BSpline.h5 --init a_0GenericAffine.mat -o c_");
  ASSERT_EQ(again.status, 0) << again.err;
  const std::string regtool = program_path("regtool");
  EXPECT_EQ(run(regtool + " jacobian -r f.nii.gz -o j.nii.gz -t a_1BSpline.h5").status, 0);
  EXPECT_EQ(run(regtool + " convert -t a_1BSpline.h5 --fixed f.nii.gz --to itk -o u.nii.gz").status,
            0);
  std::ofstream(folder / "points.csv") << "x,y,z\n1,2,3\n";
  expect_refusal(run(regtool + " points -i points.csv -o out_.csv --direction fixed-to-moving -t "
                               "a_1BSpline.h5"),
                 "regtool convert makes a field of them");
  const Eigen::Vector3d middle = read_image((folder / "f.nii.gz").string()).geometry.center();
  std::ofstream(folder / "points.csv")
      << "x,y,z\n"
      << middle.x() << ',' << middle.y() << ',' << middle.z() << '\n';
  const auto mapped = [&](const std::string& transform) {
    const Outcome points = run(regtool + " points -i points.csv -o there.csv --direction " +
                               "fixed-to-moving --fixed f.nii.gz -t " + transform);
    EXPECT_EQ(points.status, 0) << points.err;
    double x = 0, y = 0, z = 0;
    EXPECT_EQ(std::sscanf(slurp(folder / "there.csv").c_str(), "x,y,z %lf,%lf,%lf", &x, &y, &z), 3);
    return Eigen::Vector3d(x, y, z);
  };
  const Eigen::Vector3d there_by_field = mapped("a_1Warp.nii.gz");
  EXPECT_GT((there_by_field - middle).norm(), 0.05);
  EXPECT_LT((mapped("a_1BSpline.h5") - there_by_field).norm(), 1e-3);
  const Outcome inverted =
      run(regtool + " invert -t a_1BSpline.h5 --fixed f.nii.gz -o inverse.nii.gz");
  EXPECT_EQ(inverted.status, 0) << inverted.err;
  EXPECT_NE(inverted.out.find("inverse residual: mean 0.0"), std::string::npos) << inverted.out;
  ASSERT_EQ(run(call + " --outputs lattice,report -o c_").status, 0);
  const Outcome page = run(regtool + " report c_");
  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "c_report.html"));
  expect_refusal(run(call + " --outputs lattice --bids T1w:MNI -o out_"),
                 "--outputs lattice has no BIDS name; leave out --bids");
  expect_refusal(
      run(program_path("fluidreg") + " -f f.nii.gz -m m.nii.gz --outputs lattice -o out_"),
      "--outputs lattice is of ffdreg");
}

TEST_F(Ffdreg, FieldsOfEverySecondVoxelServeAsWholeOnes) {
  const std::string call = ffdreg + " -f f.nii.gz -m m.nii.gz --start none" + quick;
  ASSERT_EQ(run(call + " -o whole_").status, 0);
  const Outcome o = run(call + " --field-factor 2 -o half_");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(slurp(folder / "whole_Warped.nii.gz"), slurp(folder / "half_Warped.nii.gz"))
      << "images are warped by what was found, not by what was written";
  EXPECT_EQ(run(program_path("regtool") + " report half_").status, 0);
  Context cpu;
  for (const std::string name : {"1Warp.nii.gz", "1InverseWarp.nii.gz"}) {
    const DisplacementField whole = read_displacement(cpu, (folder / ("whole_" + name)).string()),
                            half = read_displacement(cpu, (folder / ("half_" + name)).string());
    const Extent n = whole.extent(), m = half.extent();
    ASSERT_EQ(m, (Extent{n.x / 2 + 1, n.y / 2 + 1, n.z / 2 + 1})) << "even lengths, whole cells";
    EXPECT_LT((half.geometry().index_to_world() * Eigen::Vector3d(3, 4, 5) -
               whole.geometry().index_to_world() * Eigen::Vector3d(6, 8, 10))
                  .norm(),
              1e-4);
    const FieldView<const float> u = whole.view(), v = half.view();
    double most = 0, largest = 0;
    for (int c = 0; c < 3; ++c)
      for (int z = 0; z + 1 < m.z; ++z)
        for (int y = 0; y + 1 < m.y; ++y)
          for (int x = 0; x + 1 < m.x; ++x) {
            const double at = u.plane(c)(2 * x, 2 * y, 2 * z);
            most = std::max(most, std::abs(at - 2 * v.plane(c)(x, y, z)));
            largest = std::max(largest, std::abs(at));
          }
    EXPECT_LT(most, 1e-4) << name;
    EXPECT_GT(largest, 0.5) << name << ": nothing was displaced";
    // Between them the field is interpolated.
    const DisplacementField between = resample(cpu, half, whole.geometry());
    const JacobianStatistics a = jacobian_statistics(cpu, whole),
                             b = jacobian_statistics(cpu, between);
    EXPECT_NEAR(a.mean_log, b.mean_log, 0.01) << name;
    EXPECT_LT(mean_length_mm(cpu, linear_combination(cpu, 1, whole, -1, between)), 0.05) << name;
  }
  const auto applied = [&](const std::string& prefix) {
    const Outcome apply =
        run(program_path("regtool") + " apply -i m.nii.gz -r f.nii.gz -o " + prefix +
            "applied.nii.gz -t " + prefix + "1Warp.nii.gz -t " + prefix + "0GenericAffine.mat");
    EXPECT_EQ(apply.status, 0) << apply.err;
    return read_image((folder / (prefix + "applied.nii.gz")).string()).voxels;
  };
  const std::vector<float> by_whole = applied("whole_"), by_half = applied("half_");
  double off = 0;
  for (std::size_t i = 0; i < by_whole.size(); ++i)
    off += std::abs(by_half[i] - by_whole[i]) / double(by_whole.size());
  EXPECT_LT(off, 0.1) << "of 50 grey values";
  expect_refusal(run(call + " --field-factor 0 -o out_"), "--field-factor must lie between 1");
  expect_refusal(run(program_path("linreg") + " -f f.nii.gz -m m.nii.gz --field-factor 2 -o out_"),
                 "linreg writes no field");
}

TEST_F(Ffdreg, OptionsOfOutputsThatNobodyAsksForAreSaid) {
  const std::string call = ffdreg + " -f f.nii.gz -m m.nii.gz --start none -o a_" + quick +
                           " --field-factor 2 --interpolation cubic --outputs ";
  const std::string factor = "--field-factor changes nothing with --outputs ",
                    interpolation = "--interpolation changes nothing with --outputs ";
  const Outcome images = run(call + "warped"), fields = run(call + "inverse");
  EXPECT_NE(images.err.find(factor + "warped, which asks for no field"), std::string::npos)
      << images.err;
  EXPECT_EQ(images.err.find(interpolation), std::string::npos) << images.err;
  EXPECT_NE(fields.err.find(interpolation + "inverse, which asks for no warped image"),
            std::string::npos)
      << fields.err;
  EXPECT_EQ(fields.err.find(factor), std::string::npos) << fields.err;
}

}  // namespace ffdreg_outputs_test
}  // namespace freeflow
