// regtool measure as a user runs it: known figures, what it refuses, and ../shared/eval/score.py
// where that is.
#include <cmath>
#include <nlohmann/json.hpp>

#include <freeflow/io/field_file.h>
#include <freeflow/io/label_file.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"
#include "support/python.h"
#include "support/real_data.h"

namespace freeflow {
namespace regtool_measure_test {

using namespace test;
using nlohmann::json;

const std::string measure = program_path("regtool") + " measure ";

class RegtoolMeasure : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_labels_to("f.nii.gz", grid({40, 36, 20}, {1.2, 1.1, 2.4}), 0);
    write_labels_to("m.nii.gz", grid({30, 34, 26}, {1.9, 1.4, 1.7}), 2.3);
    const Geometry g = grid({36, 30, 24}, {1.6, 1.6, 2.1});
    write_field_to("warp.nii.gz", g, 1);
    write_field_to("inverse.nii.gz", g, -1);
    Eigen::Affine3d affine = Eigen::Affine3d::Identity();
    affine.linear() *= 1.04;
    affine.translation() = Eigen::Vector3d(1.5, 0.4, -0.8);
    write_affine((folder / "affine.mat").string(), affine, g.center());
    std::ofstream(folder / "f.csv") << "1,2,3\n-4,5,6\n7.5,-8,2\n";
    std::ofstream(folder / "m.csv") << "2,2.5,3\n-3,6,5\n8,-8,3\n";
  }

  static Geometry grid(Extent extent, const Eigen::Vector3d& spacing) {
    Geometry g = oblique_geometry(extent, spacing);
    g.origin = Eigen::Vector3d::Zero();
    g.origin = -g.center();
    return g;
  }

  /// A ball of label 5 in a shell of label 2, a voxel of label 9, and -4 in one corner.
  void write_labels_to(const std::string& name, const Geometry& g, double shift) const {
    HostLabels labels;
    labels.geometry = g;
    labels.stored_type = StoredType::int16;
    for (int z = 0; z < g.extent.z; ++z)
      for (int y = 0; y < g.extent.y; ++y)
        for (int x = 0; x < g.extent.x; ++x) {
          const double r =
              (g.index_to_world() * Eigen::Vector3d(x, y, z) - Eigen::Vector3d(shift, 0, 1)).norm();
          labels.labels.push_back(r < 8 ? 5 : r < 13 ? 2 : 0);
        }
    labels.labels[g.extent.offset(3, 3, 3)] = 9;
    labels.labels[0] = std::uint64_t(-4);
    write_labels((folder / name).string(), labels, 1);
  }
  void write_field_to(const std::string& name, const Geometry& g, double sign) const {
    write_displacement((folder / name).string(), g,
                       field_planes(g.extent,
                                    [&](int x, int y, int z) {
                                      return Eigen::Vector3d(
                                          sign * std::sin(0.3 * y + 0.1 * z),
                                          sign * 0.7 * std::cos(0.25 * x),
                                          sign * 0.4 * std::sin(0.2 * x + 0.3 * z));
                                    }),
                       1);
  }
  json measured(const std::string& call) const {
    const Outcome o = run(measure + call + " -o scores.json");
    EXPECT_EQ(o.status, 0) << o.err;
    return o.status == 0 ? json::parse(slurp(folder / "scores.json")) : json();
  }

  const std::string labels = "--fixed-labels f.nii.gz --moving-labels m.nii.gz ";
  const std::string points = "--fixed-points f.csv --moving-points m.csv ";
  const std::string field = "--field warp.nii.gz --inverse inverse.nii.gz ";
  const std::string chain = "-t warp.nii.gz -t affine.mat ";
};

TEST_F(RegtoolMeasure, ComparesALabelImageWithItself) {
  const std::string same = "--fixed-labels f.nii.gz --moving-labels f.nii.gz ";
  const json scores = measured(same)["labels"];
  EXPECT_EQ(scores["n_labels"], 4);
  EXPECT_EQ(scores["mean_dice"], 1.0);
  for (const std::string label : {"2", "5", "9", "-4"}) {
    EXPECT_EQ(scores["dice"][label], 1.0) << label;
    EXPECT_EQ(scores["hausdorff95_mm"][label], 0.0) << label;
    EXPECT_EQ(scores["surface_distance_mm"][label], 0.0) << label;
  }
  EXPECT_EQ(scores["fixed_voxels"]["9"], 1);
  EXPECT_NEAR(scores["fixed_mm3"]["9"],
              read_labels((folder / "f.nii.gz").string()).geometry.spacing.prod(), 1e-9);
  EXPECT_EQ(scores["warped_mm3"], scores["fixed_mm3"]);
}

TEST_F(RegtoolMeasure, SaysWhereALabelIsMissing) {
  const Outcome o = run(measure + labels + "--labels 5,-4,77 -o scores.json");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("2 of 3 labels are missing"), std::string::npos) << o.err;
  EXPECT_NE(o.out.find("77        -        -        -"), std::string::npos) << o.out;
  const json scores = json::parse(slurp(folder / "scores.json"))["labels"];
  EXPECT_TRUE(scores["dice"]["77"].is_null());
  EXPECT_EQ(scores["dice"]["-4"], 0.0) << "its corner lies outside the fixed grid";
  EXPECT_TRUE(scores["hausdorff95_mm"]["-4"].is_null());
  EXPECT_GT(scores["dice"]["5"], 0.6);
  EXPECT_EQ(scores["mean_dice"], scores["dice"]["5"].get<double>() / 2) << "of 5 and -4";
  EXPECT_EQ(scores["mean_hausdorff95_mm"], scores["hausdorff95_mm"]["5"]);
  EXPECT_EQ(scores["n_labels_with_surfaces"], 1);
}

TEST_F(RegtoolMeasure, MeasuresLandmarksInTheFrameSaid) {
  const json scores = measured(points + "--per-point")["landmarks"];
  EXPECT_EQ(scores["n"], 3);
  EXPECT_NEAR(scores["tre"][0], std::sqrt(1.25), 1e-12);
  EXPECT_NEAR(scores["tre_max"], std::sqrt(3.0), 1e-12);
  EXPECT_EQ(scores["tre_before_mean"], scores["tre_mean"]) << "nothing moves without -t";
  EXPECT_EQ(measured(points)["landmarks"].count("tre"), 0u);
  const double lps = measured(points + chain)["landmarks"]["tre_mean"];
  std::ofstream(folder / "f_ras.csv") << "-1,-2,3\n4,-5,6\n-7.5,8,2\n";
  std::ofstream(folder / "m_ras.csv") << "-2,-2.5,3\n3,-6,5\n-8,8,3\n";
  const std::string ras = "--fixed-points f_ras.csv --moving-points m_ras.csv --frame ras ";
  EXPECT_NEAR(measured(ras + chain)["landmarks"]["tre_mean"], lps, 1e-9);
  std::ofstream(folder / "f.mrk.json")
      << R"({"markups":[{"type":"Fiducial","coordinateSystem":"LPS","controlPoints":[)"
      << R"({"position":[1,2,3]},{"position":[-4,5,6]},{"position":[7.5,-8,2]}]}]})";
  const std::string one_says = "--fixed-points f.mrk.json --moving-points m_ras.csv --frame ras ";
  EXPECT_NEAR(measured(one_says + chain)["landmarks"]["tre_mean"], lps, 1e-9);
  expect_refusal(
      run(measure + "--fixed-points f.mrk.json --moving-points f.mrk.json --frame ras " + chain),
      "its CoordinateSystem is LPS, but --frame is ras; leave --frame out");
  const json voxels = measured(points + chain + "--frame voxel --fixed f.nii.gz --moving f.nii.gz");
  EXPECT_GT(voxels["landmarks"]["tre_before_mean"], 0);
  std::ofstream(folder / "far.csv") << "1,2,3\n-4,5,6\n500,0,0\n";
  const Outcome far = run(measure + "--fixed-points far.csv --moving-points m.csv " + chain);
  EXPECT_NE(far.err.find("1 of the 3 points"), std::string::npos) << far.err;
}

TEST_F(RegtoolMeasure, MeasuresAllInOneCall) {
  const Outcome o = run(measure + labels + points + field + chain);
  ASSERT_EQ(o.status, 0) << o.err;
  for (const std::string word : {"Dice", "landmarks", "Jacobian", "residual"})
    EXPECT_NE(o.out.find(word), std::string::npos) << o.out;
  const json scores = measured(labels + points + field + chain);
  for (const std::string part : {"labels", "landmarks", "field", "inverse"})
    EXPECT_EQ(scores.count(part), 1u) << part;
  EXPECT_EQ(scores["field"]["folded_voxels"], 0);
  EXPECT_EQ(scores["field"]["voxels"], 36 * 30 * 24);
  EXPECT_EQ(measured(labels + chain + "--threads 1")["labels"], scores["labels"]);
}

TEST_F(RegtoolMeasure, SaysWhenNoVoxelIsLeftForTheInverse) {
  const Geometry g = grid({36, 30, 24}, {1.6, 1.6, 2.1});
  std::vector<float> border(g.extent.count(), 0);
  border[g.extent.offset(2, 15, 12)] = 1;
  write_image((folder / "border.nii.gz").string(), g, border);
  const Outcome o = run(measure + field + "--mask border.nii.gz -o scores.json");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.out.find("not measured: no voxel of the mask lies 4 or more from the grid's border"),
            std::string::npos)
      << o.out;
  EXPECT_TRUE(json::parse(slurp(folder / "scores.json"))["inverse"]["mean_voxels"].is_null());
}

TEST_F(RegtoolMeasure, RefusesUnusableCalls) {
  expect_refusal(run(measure), "name what to measure");
  expect_refusal(run(measure + chain), "name what to measure");
  expect_refusal(run(measure + field + chain), "--field");
  expect_refusal(run(measure + "--fixed-labels f.nii.gz"), "--moving-labels");
  expect_refusal(run(measure + field + "-o scores.csv"),
                 "-o scores.csv: the figures are written as JSON");
  expect_refusal(run(measure + "--moving-points m.csv"), "--fixed-points");
  expect_refusal(run(measure + points + "--labels 1"), "--labels");
  expect_refusal(run(measure + points + "--inverse inverse.nii.gz"), "--field");
  expect_refusal(run(measure + points + "--mask f.nii.gz"), "--field");
  expect_refusal(run(measure + points + "--frame voxel --fixed f.nii.gz"), "--moving IMAGE");
  expect_refusal(run(measure + points + "--frame world"), "voxel");
  expect_refusal(run(measure + points + "--per-point"), "-o OUT.json");
  const std::string select = measure + labels + "--labels ";
  for (const std::string list : {"1,x", "1,,2", "1,2,", "2.5", "5,5"})
    expect_refusal(run(select + list), "--labels '" + list);
  expect_refusal(run(measure + labels + "-o f.nii.gz"), "also an input");
  expect_refusal(run(measure + labels + "-t missing.mat -o out.json"), "missing.mat");
  expect_refusal(run(measure + "--field affine.mat -o out.json"), "no displacement field");
  expect_refusal(run(measure + field + "--mask f.nii.gz -o out.json"), "regtool apply");
  std::ofstream(folder / "two.csv") << "1,2,3\n4,5,6\n";
  expect_refusal(run(measure + "--fixed-points f.csv --moving-points two.csv"), "counterpart");
  HostLabels other = read_labels((folder / "f.nii.gz").string());
  for (std::uint64_t& label : other.labels) label = label == 0 ? 0 : 100;
  write_labels((folder / "other.nii.gz").string(), other, 1);
  expect_refusal(run(measure + "--fixed-labels f.nii.gz --moving-labels other.nii.gz"),
                 "in common");
}

/// ../shared/eval/score.py with a Python that can run it; empty where either is missing.
std::string score_command() {
  const char* source = std::getenv("FREEFLOW_SOURCE_DIR");
  const std::filesystem::path script =
      std::filesystem::path(source ? source : ".") / "../shared/eval/score.py";
  if (!std::filesystem::exists(script) ||
      std::system((python() + " -c 'import numpy, scipy, nibabel' >/dev/null 2>&1").c_str()) != 0)
    return "";
  return python() + " -B '" + std::filesystem::absolute(script).string() + "' ";
}

class RegtoolMeasureAndScore : public RegtoolMeasure {
 protected:
  void SetUp() override {
    RegtoolMeasure::SetUp();
    score = score_command();
    if (score.empty())
      GTEST_SKIP() << "../shared/eval/score.py, or python3 with numpy, scipy and nibabel to run "
                      "it, is not here, so nobody else has scored the same";
  }
  json scored(const std::string& call) const {
    const Outcome o = run(score + call);
    EXPECT_EQ(o.status, 0) << o.err;
    return o.status == 0 ? json::parse(o.out) : json();
  }
  /// Every figure of theirs that ours has too, within `tolerance`; how many there are.
  static int expect_same(const json& ours, const json& theirs, double tolerance) {
    int common = 0;
    for (const auto& [name, value] : theirs.items()) {
      if (!ours.contains(name)) continue;
      if (value.is_object())
        common += expect_same(ours[name], value, tolerance);
      else if (value.is_number()) {
        EXPECT_NEAR(ours[name].get<double>(), value.get<double>(), tolerance) << name;
        ++common;
      }
    }
    return common;
  }
  std::string score;
};

TEST_F(RegtoolMeasureAndScore, AgreeOnPhantoms) {
  const json ours = measured(labels + points + field + chain);
  EXPECT_EQ(expect_same(ours["labels"], scored("labels " + labels + chain), 1e-12), 7);
  EXPECT_EQ(expect_same(ours["landmarks"], scored("landmarks " + points + chain), 1e-5), 7);
  EXPECT_EQ(expect_same(ours["field"], scored("field warp.nii.gz"), 1e-5), 10);
  EXPECT_EQ(expect_same(ours["inverse"], scored("inverse warp.nii.gz inverse.nii.gz"), 1e-5), 3);
  ASSERT_EQ(run(program_path("regtool") +
                " apply -i f.nii.gz -r warp.nii.gz -o mask.nii.gz --interpolation labels")
                .status,
            0);
  const std::string masked = "--mask mask.nii.gz ";
  EXPECT_EQ(
      expect_same(measured(field + masked)["field"], scored("field warp.nii.gz " + masked), 1e-5),
      10);
}

TEST_F(RegtoolMeasureAndScore, AgreeOnRealLandmarksAndLabels) {
  const std::filesystem::path data = real_data();
  if (data.empty())
    GTEST_SKIP() << "no real images: put them in ../shared/data or name their folder in "
                    "FREEFLOW_DATA";
  const std::string liver = (data / "liver_eth4dmri/d18_exh").string(),
                    pair = "--fixed-points '" + liver + "_to_cyc_1_10_fixed_points.csv' " +
                           "--moving-points '" + liver + "_to_cyc_1_10_moving_points.csv' " +
                           "-t liver.nii.gz -t affine.mat ";
  write_field_to("liver.nii.gz", read_geometry(liver + ".nii.gz"), 1);
  EXPECT_EQ(expect_same(measured(pair)["landmarks"], scored("landmarks " + pair), 1e-5), 7);
  const std::string lungs = (data / "lung_proton").string(),
                    lobes = "--fixed-labels '" + lungs + "/0004_lobes.nii.gz' --moving-labels '" +
                            lungs + "/0006_lobes.nii.gz' ";
  EXPECT_EQ(expect_same(measured(lobes)["labels"], scored("labels " + lobes), 2e-4), 8);
}

}  // namespace regtool_measure_test
}  // namespace freeflow
