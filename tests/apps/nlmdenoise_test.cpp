// nlmdenoise as a user runs it.
#include <nlohmann/json.hpp>

#include <numeric>
#include <random>
#include <set>

#include <freeflow/denoise/signed_distance.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/mesh_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"
#include "support/real_data.h"

namespace freeflow {
namespace nlmdenoise_test {

using namespace test;
using Eigen::Vector3d;

const std::string nlmdenoise = program_path("nlmdenoise");

class Nlmdenoise : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    const Vector3d c = geometry.center();
    const Eigen::Affine3d world = geometry.index_to_world();
    const auto distance = [&](int x, int y, int z) {
      return (world * Vector3d(x, y, z) - c).norm() - 8;
    };
    write(
        "mask.nii.gz", [&](int x, int y, int z) { return distance(x, y, z) < 0; },
        StoredType::uint8);
    write(
        "labels.nii.gz",
        [&](int x, int y, int z) {
          return distance(x, y, z) > 0 ? 0 : x < 12 ? 2 : y < 9 ? 5 : 17;
        },
        StoredType::int16);
    write(
        "grey.nii.gz",
        [&](int x, int y, int z) {
          return 100 - 10 * distance(x, y, z) + std::sin(5 * x + 3 * y - 4 * z);
        },
        StoredType::float32);
    write("sdf.nii.gz", distance, StoredType::float32);
  }

  template <class F>
  void write(const std::string& name, F&& f, StoredType type) {
    write_image((folder / name).string(), geometry, voxelwise(geometry.extent, f), type, 1);
  }

  nlohmann::json report(const std::string& prefix) const {
    return nlohmann::json::parse(slurp(folder / (prefix + "report.json")));
  }

  Geometry geometry = oblique_geometry({24, 26, 18}, {1, 1, 1.4});
};

TEST_F(Nlmdenoise, WritesWhatItPromises) {
  const Outcome o = run(nlmdenoise + " -i mask.nii.gz -o new/folder/a_");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, "");
  for (const char* words : {"nlmdenoise: done.\n  level set: changed by 0.",
                            "  time: ", "  written: new/folder/a_ + sdf.nii.gz, mask.nii.gz, "})
    EXPECT_NE(o.err.find(words), std::string::npos) << words << " in " << o.err;
  const auto r = report("new/folder/a_");
  EXPECT_EQ(r["program"], "nlmdenoise");
  EXPECT_EQ(r["input"]["kind"], "labels");
  EXPECT_EQ(r["inside"]["after"]["components"], 1);
  EXPECT_EQ(r["inside"]["after"]["euler_number"], 1);
  EXPECT_NEAR(r["inside"]["after"]["volume_mm3"].get<double>() /
                  r["inside"]["before"]["volume_mm3"].get<double>(),
              1, 0.02);
  EXPECT_GT(r["band"]["elements"].get<int>(), 1000);
  EXPECT_EQ(r["options"]["c2"], "auto");
  EXPECT_EQ(r["c2"], 15);
  EXPECT_LT(r["noise_mm"].get<double>(), 0.2);
  const HostImage sdf = read_image((folder / "new/folder/a_sdf.nii.gz").string()),
                  mask = read_image((folder / "new/folder/a_mask.nii.gz").string());
  EXPECT_TRUE(same_grid(sdf.geometry, geometry));
  for (std::size_t i = 0; i < sdf.voxels.size(); ++i)
    ASSERT_EQ(mask.voxels[i], sdf.voxels[i] <= 0 ? 1 : 0);
  EXPECT_EQ(std::filesystem::exists(folder / "new/folder/a_surface.ply"), has_meshes());
  EXPECT_EQ(o.err.find("libvtk9-dev") == std::string::npos, has_meshes()) << o.err;
}

TEST_F(Nlmdenoise, KnowsTheKindsOfVolumes) {
  for (const auto& [arguments, kind] :
       {std::pair{"-i sdf.nii.gz", "sdf"}, std::pair{"-i grey.nii.gz --iso 100", "image"},
        std::pair{"-i labels.nii.gz --label 2 --patch 3", "labels"}}) {
    const Outcome o = run(nlmdenoise + " -q -o b_ --iterations 2 " + arguments);
    ASSERT_EQ(o.status, 0) << arguments << o.err;
    EXPECT_EQ(o.err, "");
    EXPECT_EQ(report("b_")["input"]["kind"], kind);
  }
}

TEST_F(Nlmdenoise, LabelsMayBeNegative) {
  const auto distance = read_image((folder / "sdf.nii.gz").string()).voxels;
  const auto write_labels = [&](const std::string& name, const std::vector<float>& labels,
                                StoredType type) {
    write(
        name,
        [&](int x, int y, int z) {
          return labels[distance[geometry.extent.offset(x, y, z)] > 0 ? 0 : x < 12 ? 1 : 2];
        },
        type);
  };
  write_labels("signs.nii.gz", {0, -1, 1}, StoredType::int16);
  write_labels("far.nii.gz", {0, -5, 300}, StoredType::int16);
  write_labels("float.nii.gz", {0, -1, 1}, StoredType::float32);
  write_labels("one.nii.gz", {0, -5, -5}, StoredType::int16);
  const std::string go = nlmdenoise + " -q --iterations 1 -i ";
  expect_refusal(run(go + "signs.nii.gz -o out_"), "(-1, 1): choose one with --label");
  expect_refusal(run(go + "far.nii.gz -o out_"), "(-5, 300): choose one with --label");
  expect_refusal(run(go + "float.nii.gz -o out_"), "or give --input-kind sdf");
  EXPECT_EQ(run(go + "signs.nii.gz -o d_ --input-kind sdf").status, 0);

  const auto inside = [&](const std::string& arguments) {
    EXPECT_EQ(run(go + arguments + " -o d_").status, 0) << arguments;
    EXPECT_EQ(report("d_")["input"]["kind"], "labels") << arguments;
    const auto mask = read_image((folder / "d_mask.nii.gz").string()).voxels;
    return std::accumulate(mask.begin(), mask.end(), 0.0) / double(mask.size());
  };
  const double whole = inside("mask.nii.gz");
  EXPECT_NEAR(inside("one.nii.gz"), whole, 0.01) << "the label, not what lies around it";
  EXPECT_NEAR(inside("far.nii.gz --label -5") + inside("far.nii.gz --label 300"), whole, 0.02);

  // Of an image of more labels than are counted, too.
  const Geometry many{{40, 20, 2}};
  std::vector<float> numbers(1600);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = float(i < 4 ? 0 : 2 * i);
  write_image((folder / "many.nii.gz").string(), many, numbers, StoredType::int16, 1);
  expect_refusal(run(go + "many.nii.gz --label 9 -o out_"), "has no voxel of label 9");

  // distances that were rounded to whole voxels are distances
  write(
      "rounded.nii.gz",
      [&](int x, int y, int z) { return std::round(distance[geometry.extent.offset(x, y, z)]); },
      StoredType::int16);
  ASSERT_EQ(run(go + "rounded.nii.gz -o d_").status, 0);
  EXPECT_EQ(report("d_")["input"]["kind"], "sdf");
}

TEST_F(Nlmdenoise, RefusesAProbabilityThatRingsBelowZero) {
  const auto distance = read_image((folder / "sdf.nii.gz").string()).voxels;
  write(
      "probability.nii.gz",
      [&](int x, int y, int z) {
        const double d = distance[geometry.extent.offset(x, y, z)];
        return 1 / (1 + std::exp(2 * d)) + 1e-3 * std::sin(0.7 * x);
      },
      StoredType::float32);
  const std::string go = nlmdenoise + " -i probability.nii.gz -o c_ --iterations 1 ";
  expect_refusal(run(go), "per mm where they meet: say what it is with --input-kind");
  EXPECT_EQ(run(go + "--iso 0.5").status, 0);
}

TEST_F(Nlmdenoise, RefusesAMaskThatRingsBelowZero) {
  const auto distance = read_image((folder / "sdf.nii.gz").string()).voxels;
  write(
      "sinc.nii.gz",
      [&](int x, int y, int z) {
        const double d = distance[geometry.extent.offset(x, y, z)];
        return d > 3 ? 0 : d > 1 ? -0.2 * (3 - d) : std::min(1.0, 0.5 - d) + 0.01 * std::sin(x + d);
      },
      StoredType::float32);
  const std::string go = nlmdenoise + " -i sinc.nii.gz -o c_ --iterations 1 ";
  expect_refusal(run(go), "as signed distances do, but is 0 in ");
  ASSERT_EQ(run(go + "--iso 0.5").status, 0);
  EXPECT_NEAR(report("c_")["inside"]["before"]["volume_mm3"].get<double>(), 2145, 100);
  EXPECT_EQ(run(go + "--input-kind sdf").status, 0);
}

TEST_F(Nlmdenoise, GivesTheSameBytesWhateverTheThreadsAndTheStrategy) {
  ASSERT_EQ(run(nlmdenoise + " -q -i mask.nii.gz -o a_ --device cpu --threads 1").status, 0);
  ASSERT_EQ(run(nlmdenoise + " -q -i mask.nii.gz -o b_ --threads 3 --strategy global").status, 0);
  for (const std::string name : {"sdf.nii.gz", "mask.nii.gz"})
    EXPECT_EQ(slurp(folder / ("a_" + name)), slurp(folder / ("b_" + name))) << name;
}

TEST_F(Nlmdenoise, ReadsMeshes) {
  if (!has_meshes()) {
    expect_refusal(run(nlmdenoise + " -i ball.ply -o out_"), "libvtk9-dev");
    GTEST_SKIP() << "a build without VTK";
  }
  ASSERT_EQ(run(nlmdenoise + " -q -i sdf.nii.gz -o a_ --iterations 0").status, 0);
  const TriangleMesh mesh = read_mesh((folder / "a_surface.ply").string());
  for (const Vector3d& p : mesh.points) ASSERT_NEAR((p - geometry.center()).norm(), 8, 0.15);
  double volume = 0;  // positive where the triangles turn outwards
  for (const auto& t : mesh.triangles)
    volume += mesh.points[t[0]].dot(mesh.points[t[1]].cross(mesh.points[t[2]])) / 6;
  EXPECT_NEAR(volume, 4.0 / 3 * 3.14159 * 512, 40);
  const Outcome o = run(nlmdenoise + " -q -i a_surface.ply --resolution 0.9 -o b_");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(report("b_")["input"]["kind"], "mesh");
  for (const Vector3d& p : read_mesh((folder / "b_surface.ply").string()).points)
    ASSERT_NEAR((p - geometry.center()).norm(), 8, 0.3);
  TriangleMesh open = mesh;
  open.triangles.resize(open.triangles.size() / 2);
  write_mesh((folder / "open.ply").string(), open);
  expect_refusal(run(nlmdenoise + " -i open.ply -o out_"), "is open");
  std::ofstream(folder / "text.ply") << "this is not a mesh";
  expect_refusal(run(nlmdenoise + " -i text.ply -o out_"), "text.ply");
  std::ofstream(folder / "corner.obj")
      << "v 0 0 0\nv 9 0 0\nv 0 9 0\nv 0 0 9\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 100000000\n";
  expect_refusal(run(nlmdenoise + " -i corner.obj -o out_"), "a face names a point");
}

TEST_F(Nlmdenoise, RefusesBadInputWithASentence) {
  write(
      "zeros.nii.gz", [](int, int, int) { return 0; }, StoredType::uint8);
  write(
      "ones.nii.gz", [](int, int, int) { return 1; }, StoredType::uint8);
  const auto refused = [&](const std::string& arguments, const std::string& words) {
    expect_refusal(run(nlmdenoise + " -o out/a_ " + arguments), words);
  };
  refused("-i zeros.nii.gz", "no surface");
  refused("-i ones.nii.gz", "no surface");
  refused("-i labels.nii.gz", "2, 5, 17): choose one with --label");
  refused("-i labels.nii.gz --label 3", "its labels are 2, 5, 17");
  refused("-i labels.nii.gz --label 16777217", "16777216");
  refused("-i grey.nii.gz --input-kind image", "--iso");
  refused("-i grey.nii.gz --iso 5000", "is not between");
  refused("-i mask.nii.gz --patch 4", "3, 5, 7 or 9");
  refused("-i mask.nii.gz --neighbours 257", "between 1 and 256");
  refused("-i mask.nii.gz --strategy fast", "constant, texture, global, tiled");
  refused("-i mask.nii.gz --search-radius wide", "--search-radius");
  refused("-i mask.nii.gz --resolution 1", "--resolution is for meshes");
  refused("-i mask.nii.gz --c2 0", "c2 must be positive");
  refused("-i mask.nii.gz --limit inf", "at most 1000 voxels");
  refused("-i mask.nii.gz --c2 much", "not a number or auto");
  refused("-i missing.nii.gz", "no such file");
  refused("", "-i FILE");
  expect_refusal(run(nlmdenoise + " -i mask.nii.gz"), "-o PREFIX");
}

TEST_F(Nlmdenoise, CtrlCInTheSearchLeavesNothing) {
  const auto names = [&] {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      all.insert(entry.path().filename().string());
    return all;
  };
  geometry = plain_geometry({80, 80, 80});
  write(
      "big.nii.gz",
      [&](int x, int y, int z) { return (Vector3d(x, y, z) - geometry.center()).norm() < 30; },
      StoredType::uint8);
  const std::set<std::string> before = names();
  const Outcome o = run("{ " + nlmdenoise +
                        " -v -i big.nii.gz -o out_ --device cpu --threads 1 --patch 9 2>said & "
                        "until grep -q 'band of' said; do sleep 0.01; done; kill -INT $!; "
                        "wait $!; status=$?; cat said >&2; rm said; exit $status; }");
  EXPECT_EQ(o.status, 130) << o.err;
  EXPECT_NE(o.err.find("interrupted"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("band of"), std::string::npos) << o.err;
  EXPECT_EQ(o.err.find("search "), std::string::npos) << o.err;  // its end is announced
  EXPECT_EQ(names(), before);
}

/// Angles between the gradients of two signed distances, in degrees, and the differences of their
/// values, both on average over the voxels within one of the true surface.
struct SurfaceError {
  double degrees = 0, voxels = 0;
};

SurfaceError surface_error(Extent n, const std::vector<float>& phi,
                           const std::vector<float>& truth) {
  const auto normal = [&](const std::vector<float>& f, int x, int y, int z) {
    const auto at = [&](int i, int j, int k) { return double(f[n.offset(i, j, k)]); };
    return Vector3d(at(x + 1, y, z) - at(x - 1, y, z), at(x, y + 1, z) - at(x, y - 1, z),
                    at(x, y, z + 1) - at(x, y, z - 1))
        .stableNormalized();
  };
  SurfaceError sum;
  int count = 0;
  for (int z = 1; z < n.z - 1; ++z)
    for (int y = 1; y < n.y - 1; ++y)
      for (int x = 1; x < n.x - 1; ++x) {
        const std::size_t i = n.offset(x, y, z);
        if (std::abs(truth[i]) > 1) continue;
        const double cosine = normal(phi, x, y, z).dot(normal(truth, x, y, z));
        sum.degrees += std::acos(std::clamp(cosine, -1.0, 1.0)) * 180 / 3.141592653589793;
        sum.voxels += std::abs(phi[i] - truth[i]);
        ++count;
      }
  return {sum.degrees / count, sum.voxels / count};
}

// The white matter's surface in a man's head (Debian's mricron-data), under white noise of 8 of the
// 30 that lie between grey and white matter.
TEST_F(Nlmdenoise, RealDataNoiseOnATemplateIsTakenOff) {
  const char* named = std::getenv("FREEFLOW_TEMPLATES");
  const std::filesystem::path file =
      std::filesystem::path(named ? named : "/usr/share/mricron/templates") / "ch2bet.nii.gz";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << file << " is missing: scripts/setup.sh mricron-data";
  const HostImage head = read_image(file.string());
  const Extent whole = head.geometry.extent;
  geometry = plain_geometry({44, 44, 40});
  std::vector<float> grey = voxelwise(geometry.extent, [&](int x, int y, int z) {
    return head.voxels[whole.offset(36 + x, 66 + y, 94 + z)];
  });
  Context ctx;
  const auto distance = [&] {
    return signed_distance(ctx, Volume<float>(ctx, geometry, grey), 102, Inside::above)
        .to_host(ctx);
  };
  const std::vector<float> truth = distance();
  std::mt19937 generator(7);
  std::normal_distribution<float> noise(0, 8);
  for (float& v : grey) v += noise(generator);
  write_image((folder / "noisy.nii.gz").string(), geometry, grey, StoredType::float32, 1);
  const Outcome o = run(nlmdenoise + " -q -i noisy.nii.gz --iso 102 -o a_");
  ASSERT_EQ(o.status, 0) << o.err;
  const SurfaceError before = surface_error(geometry.extent, distance(), truth),
                     after = surface_error(geometry.extent,
                                           read_image((folder / "a_sdf.nii.gz").string()).voxels,
                                           truth);
  std::printf("before %.1f degrees, %.2f voxel; after %.1f degrees, %.2f voxel\n", before.degrees,
              before.voxels, after.degrees, after.voxels);
  EXPECT_LT(after.degrees, 0.5 * before.degrees);
  EXPECT_LT(after.voxels, 0.45);  // what the noise hides is smoothed away with it
  EXPECT_LE(report("a_")["inside"]["after"]["components"], 2);
}

TEST_F(Nlmdenoise, RealDataSegmentationRunsWithDefaults) {
  const std::filesystem::path file =
      std::filesystem::absolute(real_data() / "fair_3d" / "wmseg_R.nii.gz");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no real data";
  // The whole volume takes a minute and more here: a tenth of the neighbourhood shows that it is
  // understood.
  const Outcome o =
      run(nlmdenoise + " -q -i '" + file.string() + "' -o a_ --search-radius 2 --iterations 1");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(report("a_")["input"]["kind"], "image");
}

}  // namespace nlmdenoise_test
}  // namespace freeflow
