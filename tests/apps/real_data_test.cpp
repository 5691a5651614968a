// The figures of the project's first issue, on real images. Skips plainly where ../shared/data (or FREEFLOW_DATA) is missing.
#include <nlohmann/json.hpp>

#include <map>

#include <freeflow/deform/field_operations.h>
#include <freeflow/deform/warp.h>
#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"
#include "support/real_data.h"

namespace freeflow {
namespace {

using namespace test;

class RealData : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    data = real_data();
    if (data.empty()) GTEST_SKIP() << "no real images: put them in ../shared/data or name their folder in FREEFLOW_DATA";
  }

  /// Runs ffdreg with its defaults.
  void register_pair(const std::filesystem::path& fixed, const std::filesystem::path& moving) {
    const Outcome o =
        run(program_path("ffdreg", FFDREG) + " -f '" + (data / fixed).string() + "' -m '" + (data / moving).string() + "' -o r_");
    ASSERT_EQ(o.status, 0) << o.err;
    report = nlohmann::json::parse(slurp(folder / "r_report.json"));
    field = read_displacement((folder / "r_1Warp.nii.gz").string());
    affine = read_affine((folder / "r_0GenericAffine.mat").string());
    EXPECT_LT(report["jacobian"]["folded_percent"].get<double>(), 0.01);
    EXPECT_LE(report["inverse_residual_voxels"]["mean"].get<double>(), 0.05);
  }

  static std::vector<Eigen::Vector3d> points(const std::filesystem::path& path) {
    std::vector<Eigen::Vector3d> result;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::replace(line.begin(), line.end(), ',', ' ');
      std::istringstream numbers(line);
      Eigen::Vector3d p;
      if (numbers >> p.x() >> p.y() >> p.z()) result.push_back(p);
    }
    return result;
  }

  /// Mean distance of the fixed points carried over to the moving ones, mm.
  double landmark_error(const std::string& pair) const {
    const auto fixed = points(data / (pair + "_fixed_points.csv")), moving = points(data / (pair + "_moving_points.csv"));
    Context cpu;
    const DisplacementField u(cpu, field.geometry, field.planes);
    double sum = 0;
    for (std::size_t i = 0; i < fixed.size(); ++i) {
      // One voxel grid at the point: resampling the field there interpolates it as everyone does.
      Geometry at = field.geometry;
      at.extent = {1, 1, 1};
      at.origin = fixed[i];
      const std::vector<float> d = resample(cpu, u, at).to_host(cpu);
      const Eigen::Vector3d world =
          fixed[i] + field.geometry.direction * field.geometry.spacing.cwiseProduct(Eigen::Vector3d(d[0], d[1], d[2]));
      sum += (affine * world - moving[i]).norm();
    }
    return sum / double(fixed.size());
  }

  std::filesystem::path data;
  nlohmann::json report;
  HostField field;
  Eigen::Affine3d affine;
};

TEST_F(RealData, BrainsOfTwoPeopleReachTheirDice) {
  const std::filesystem::path dir = "brain_oasis_aligned";
  register_pair(dir / "0001_norm.nii.gz", dir / "0002_norm.nii.gz");
  Context cpu;
  const DisplacementField u(cpu, field.geometry, field.planes);
  const HostImage fixed = read_image((data / dir / "0001_seg35.nii.gz").string());
  const HostImage moving = read_image((data / dir / "0002_seg35.nii.gz").string());
  const std::vector<float> warped = warp(cpu, to_volume(cpu, moving), field.geometry, affine, &u, Interpolation::nearest, 0).to_host(cpu);
  std::map<int, std::array<double, 3>> count;  // fixed, warped, both
  for (std::size_t i = 0; i < warped.size(); ++i) {
    const int f = int(fixed.voxels[i]), w = int(warped[i]);
    count[f][0] += 1;
    count[w][1] += 1;
    if (f == w) count[f][2] += 1;
  }
  double sum = 0;
  count.erase(0);
  for (const auto& [label, n] : count) sum += 2 * n[2] / (n[0] + n[1]);
  EXPECT_EQ(count.size(), 35u);
  EXPECT_GE(sum / double(count.size()), 0.76);
}

TEST_F(RealData, ThinLiverVolumesReachTheirLandmarks) {
  for (const std::string cycle : {"cyc_1_6", "cyc_1_9"}) {
    const std::filesystem::path dir = "liver_eth4dmri";
    register_pair(dir / "d19_exh.nii.gz", dir / ("d19_" + cycle + ".nii.gz"));
    EXPECT_LE(landmark_error("liver_eth4dmri/d19_exh_to_" + cycle), 1.75) << cycle;
  }
}

}  // namespace
}  // namespace freeflow
