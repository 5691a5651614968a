// regtool as a user runs it, after a registration of two phantoms.
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <freeflow/core/memory.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/label_file.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace regtool_test {

using namespace test;

const std::string regtool = program_path("regtool");
const std::string fluidreg = program_path("fluidreg");

class Regtool : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("f.nii.gz", fixed_grid(), 0);
    write("m.nii.gz", moving_grid(), 1.5);
    const std::string call =
        " -q --device cpu --threads 1 -f f.nii.gz -m m.nii.gz -o a_ --linear rigid "
        "--levels 2 --iterations 10x4";
    ASSERT_EQ(run(fluidreg + call).status, 0);
  }

  static Geometry grid(Extent extent, const Eigen::Vector3d& spacing) {
    Geometry g = oblique_geometry(extent, spacing);
    g.origin = Eigen::Vector3d::Zero();
    g.origin = -g.center();
    return g;
  }
  static Geometry fixed_grid() { return grid({30, 32, 20}, {2.1, 2, 2.8}); }
  static Geometry moving_grid() { return grid({34, 30, 26}, {2, 2.2, 2.3}); }

  static double picture(const Eigen::Vector3d& p, double bend) {
    return 100 * head(p + bend * Eigen::Vector3d(std::sin(0.1 * p.y()), 0.8, -0.6), 20);
  }
  void write(const std::string& name, const Geometry& g, double bend) const {
    Context cpu;
    const auto voxels =
        sample_world(cpu, g, [&](const Eigen::Vector3d& p) { return picture(p, bend); });
    write_image((folder / name).string(), g, voxels.to_host(cpu), StoredType::int16, 1);
  }
  HostImage read(const std::string& name) const { return read_image((folder / name).string()); }

  const std::string forth = " -t a_1Warp.nii.gz -t a_0GenericAffine.mat ";
  const std::string back = " -t [a_0GenericAffine.mat,1] -t a_1InverseWarp.nii.gz ";
};

TEST_F(Regtool, SaysWhatIsNeededWhereAChainDoesNotFitIntoMemory) {
  // 12 bytes a voxel of the field and 24 to write it. A sparse file: nothing stands on the disk.
  const std::size_t side = 1290, needed = 36 * side * side * side;
  if (free_host_bytes() > needed) GTEST_SKIP() << "it does fit here";
  Geometry around = plain_geometry({1, 1, 1});
  around.origin = Eigen::Vector3d::Constant(-600);
  write_image((folder / "huge.nii").string(), around, std::vector<float>(1), StoredType::uint8, 1);
  std::fstream header(folder / "huge.nii", std::ios::in | std::ios::out | std::ios::binary);
  const std::array<std::int16_t, 3> sides{side, side, side};
  header.seekp(42).write(reinterpret_cast<const char*>(sides.data()), sizeof sides);
  header.close();
  std::filesystem::resize_file(folder / "huge.nii", 352 + side * side * side);
  for (const std::string command : {" compose", " jacobian"}) {
    const std::string words = command + " --device cpu -r huge.nii -o out.nii" + forth;
    const Outcome o = run(regtool + words);
    expect_refusal(o, " MiB are free; close other programs, or ", 1);
    EXPECT_NE(o.err.find("out of memory: "), std::string::npos) << o.err;
  }
}

TEST_F(Regtool, WarnsOfAWarpWithoutTheAffineBesideIt) {
  std::ofstream(folder / "p.csv") << "1,2,3\n";
  const std::string apply = regtool + " apply -i m.nii.gz -r f.nii.gz -o w.nii.gz";
  const std::string points = regtool + " points -i p.csv -o q.csv --direction fixed-to-moving";
  for (const std::string& command : {apply, points}) {
    const Outcome half = run(command + " -t a_1Warp.nii.gz");
    EXPECT_EQ(half.status, 0) << half.err;
    EXPECT_NE(half.err.find("whose affine 'a_0GenericAffine.mat' is not listed: onto the fixed "
                            "image's grid it is" +
                            forth.substr(0, forth.size() - 1)),
              std::string::npos)
        << half.err;
    EXPECT_EQ(run(command + forth).err, "");
  }
  EXPECT_EQ(run(regtool + " apply -i f.nii.gz -r m.nii.gz -o b.nii.gz" + back).err, "");
  // Without a file of that name there is nothing to list.
  std::filesystem::rename(folder / "a_0GenericAffine.mat", folder / "b.mat");
  EXPECT_EQ(run(apply + " -t a_1Warp.nii.gz").err, "");
}

TEST_F(Regtool, AppliesToImagesAsTheRegistrationDid) {
  ASSERT_EQ(
      run(regtool + " apply -i m.nii.gz m.nii.gz -r f.nii.gz -o there.nii.gz again.nii.gz" + forth)
          .status,
      0);
  const HostImage there = read("there.nii.gz"), again = read("again.nii.gz");
  EXPECT_EQ(there.stored_type, StoredType::int16) << "the input's type stays";
  EXPECT_TRUE(same_grid(there.geometry, fixed_grid()));
  EXPECT_EQ(there.voxels, again.voxels);
  const HostImage warped = read("a_Warped.nii.gz"), low = read("m.nii.gz");
  const float outside = *std::min_element(low.voxels.begin(), low.voxels.end());
  std::size_t differ = 0;
  for (std::size_t i = 0; i < there.voxels.size(); ++i)
    differ += warped.voxels[i] != outside && std::abs(there.voxels[i] - warped.voxels[i]) > 0.51f;
  EXPECT_EQ(differ, 0u) << "but for rounding to integers";
}

TEST_F(Regtool, CarriesLabelsForthAndBack) {
  HostLabels labels;
  labels.geometry = moving_grid();
  labels.stored_type = StoredType::int64;
  const std::uint64_t large = (std::uint64_t(1) << 53) + 1;
  const Eigen::Affine3d world = moving_grid().index_to_world();
  const Extent n = moving_grid().extent;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        const Eigen::Vector3d p = world * Eigen::Vector3d(x, y, z);
        labels.labels.push_back(p.norm() > 16 ? 0 : p.x() > 0 ? 614454277 : large);
      }
  write_labels((folder / "labels.nii.gz").string(), labels, 1);
  for (const std::string how : {"labels", "nearest"}) {
    std::string apply = regtool + " apply --interpolation ";
    apply.append(how).append(" -i ");
    ASSERT_EQ(run(apply + "labels.nii.gz -r f.nii.gz -o there.nii.gz" + forth).status, 0);
    ASSERT_EQ(run(apply + "there.nii.gz -r m.nii.gz -o back.nii.gz" + back).status, 0);
    const HostLabels there = read_labels((folder / "there.nii.gz").string());
    const HostLabels returned = read_labels((folder / "back.nii.gz").string());
    EXPECT_EQ(there.stored_type, StoredType::int64);
    for (const std::uint64_t label : there.labels)
      ASSERT_TRUE(label == 0 || label == 614454277 || label == large) << label;
    std::size_t both = 0, either = 0;
    for (std::size_t i = 0; i < returned.labels.size(); ++i) {
      both += 2 * std::size_t(returned.labels[i] == large && labels.labels[i] == large);
      either += std::size_t(returned.labels[i] == large) + std::size_t(labels.labels[i] == large);
    }
    EXPECT_GT(double(both), 0.9 * double(either)) << how;
  }
}

TEST_F(Regtool, NearestLabelsOfDoublesAreExact) {
  HostLabels labels{moving_grid(), {}, StoredType::float64, {}};
  const Extent n = moving_grid().extent;
  for (int i = 0; i < n.x * n.y * n.z; ++i)  // one float to both
    labels.labels.push_back(i % n.x < 4 ? 0 : i % n.x < 15 ? 614454277 : 614454276);
  write_labels((folder / "doubles.nii.gz").string(), labels, 1);
  ASSERT_EQ(run(regtool +
                " apply --interpolation nearest -i doubles.nii.gz -r f.nii.gz "
                "-o there.nii.gz" +
                forth)
                .status,
            0);
  const HostLabels there = read_labels((folder / "there.nii.gz").string());
  EXPECT_EQ(std::set<std::uint64_t>(there.labels.begin(), there.labels.end()),
            (std::set<std::uint64_t>{0, 614454276, 614454277}));
}

/// -1 and the largest unsigned label are the same 64 bits.
TEST_F(Regtool, LabelsThatTheTypeCannotHoldAreRefused) {
  HostLabels labels{moving_grid(), {}, StoredType::int16, {}};
  labels.labels.assign(moving_grid().extent.count(), std::uint64_t(-1));
  write_labels((folder / "minus.nii.gz").string(), labels, 1);
  labels.stored_type = StoredType::uint64;
  labels.labels.assign(labels.labels.size(), std::uint64_t(1) << 63);
  write_labels((folder / "large.nii.gz").string(), labels, 1);
  const std::string apply = regtool + " apply --interpolation labels -r f.nii.gz -o there.nii.gz ";
  expect_refusal(run(apply + "-i minus.nii.gz --type uint64" + forth), "label -1 does not fit");
  expect_refusal(run(apply + "-i large.nii.gz --type int64" + forth),
                 "label 9223372036854775808 does not fit");
  ASSERT_EQ(run(apply + "-i large.nii.gz" + forth).status, 0);
  const HostLabels there = read_labels((folder / "there.nii.gz").string());
  EXPECT_EQ(std::ranges::max(there.labels), std::uint64_t(1) << 63);
}

TEST_F(Regtool, DigitsThatAFloatLosesAreSaid) {
  const auto write = [&](const std::string& name, std::uint64_t from) {
    HostLabels whole{moving_grid(), {}, StoredType::float64, {}};
    for (std::size_t i = 0; i < moving_grid().extent.count(); ++i)
      whole.labels.push_back(from + i % 50);
    write_labels((folder / name).string(), whole, 1);
  };
  write("far.nii", 1'000'000'000);
  write("near.nii", 1000);
  const std::string apply = regtool + " apply -r f.nii.gz -o there.nii.gz" + forth + " -i ";
  const auto far = run(apply + "far.nii");
  EXPECT_EQ(far.status, 0);
  EXPECT_NE(far.err.find("single precision changes them by up to"), std::string::npos) << far.err;
  EXPECT_EQ(run(apply + "near.nii").err.find("single precision"), std::string::npos);
}

TEST_F(Regtool, SaysWhatStandsForAFillBetweenTwoValues) {
  const std::string apply = regtool + " apply -r f.nii.gz -i m.nii.gz -o there.nii.gz" + forth;
  const std::string words =
      "--fill 0.75 is between the values that the voxels of 'there.nii.gz' hold; where the image "
      "has no value they hold 1\n";
  EXPECT_NE(run(apply + "--fill 0.75").err.find(words), std::string::npos);
  for (const std::string fits : {"--fill 7", "--fill 0.75 --type float32", "--fill=-1024"})
    EXPECT_EQ(run(apply + fits).err.find("between the values"), std::string::npos) << fits;
}

TEST_F(Regtool, WarnsWhereLabelsAreInterpolatedAsAnImageIs) {
  HostLabels labels{moving_grid(), {}, StoredType::uint8, {}};
  const Extent n = moving_grid().extent;
  for (int i = 0; i < n.x * n.y * n.z; ++i)
    labels.labels.push_back(i % n.x < 4 ? 0 : i % n.x < 15 ? 17 : 53);
  write_labels((folder / "two.nii.gz").string(), labels, 1);
  labels.stored_type = StoredType::int32;
  for (std::uint64_t& label : labels.labels) label *= 10'000'019;  // beyond what every float holds
  write_labels((folder / "long.nii.gz").string(), labels, 1);
  labels.stored_type = StoredType::uint8;
  for (std::uint64_t& label : labels.labels) label = label > 0 ? 17 : 0;
  write_labels((folder / "one.nii.gz").string(), labels, 1);
  const auto said = [&](const std::string& input, const std::string& how) {
    const auto done = run(regtool + " apply -r f.nii.gz -o there.nii.gz -i " + input + how + forth);
    EXPECT_EQ(done.status, 0) << done.err;
    return done.err.find("add --interpolation labels") != std::string::npos;
  };
  EXPECT_TRUE(said("two.nii.gz", ""));
  EXPECT_TRUE(said("two.nii.gz", " --interpolation cubic"));
  EXPECT_TRUE(said("long.nii.gz", ""));
  EXPECT_FALSE(said("two.nii.gz", " --interpolation labels"));
  EXPECT_FALSE(said("two.nii.gz", " --interpolation nearest"));
  EXPECT_FALSE(said("one.nii.gz", "")) << "a mask, whose border is half way";
  EXPECT_FALSE(said("m.nii.gz", "")) << "an image of whole numbers";
}

TEST_F(Regtool, MapsPointsInTheDirectionSaid) {
  std::ofstream(folder / "p.csv") << "x,y,z,name\n5,-4,3,first\n-8.5,2,6,second\n";
  ASSERT_EQ(run(regtool + " points -i p.csv -o q.csv --direction fixed-to-moving" + forth).status,
            0);
  ASSERT_EQ(run(regtool + " points -i q.csv -o r.csv --direction moving-to-fixed" + forth).status,
            0);
  const std::string mapped = slurp(folder / "q.csv");
  EXPECT_EQ(mapped.rfind("x,y,z,name\n", 0), 0u);
  EXPECT_NE(mapped.find(",second\n"), std::string::npos);
  EXPECT_EQ(mapped.find("5.000000,-4.000000"), std::string::npos) << "they moved";
  std::istringstream lines(slurp(folder / "r.csv"));
  std::string line;
  std::getline(lines, line);
  for (const Eigen::Vector3d& p : {Eigen::Vector3d(5, -4, 3), Eigen::Vector3d(-8.5, 2, 6)}) {
    std::getline(lines, line);
    Eigen::Vector3d r;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf,%lf,%lf", &r.x(), &r.y(), &r.z()), 3);
    EXPECT_LT((r - p).norm(), 1e-5);
  }
  expect_refusal(run(regtool + " points -i p.csv -o out.csv" + forth), "--direction");
}

TEST_F(Regtool, OneComposedFieldIsTheChain) {
  ASSERT_EQ(run(regtool + " compose -r f.nii.gz -o whole.nii.gz" + forth).status, 0);
  ASSERT_EQ(run(regtool + " apply -i m.nii.gz -r f.nii.gz -o one.nii.gz -t whole.nii.gz").status,
            0);
  ASSERT_EQ(run(regtool + " apply -i m.nii.gz -r f.nii.gz -o two.nii.gz" + forth).status, 0);
  const HostImage one = read("one.nii.gz"), two = read("two.nii.gz");
  for (std::size_t i = 0; i < one.voxels.size(); ++i)
    ASSERT_NEAR(one.voxels[i], two.voxels[i], 1.01f) << "to rounding";
}

/// A chain is checked by its files' names, compressed or not.
TEST_F(Regtool, KnowsTheOutputsOfARunThatWasNotCompressed) {
  ASSERT_EQ(run(regtool + " compose -r f.nii.gz -t a_1Warp.nii.gz -o p_1Warp.nii").status, 0);
  std::filesystem::copy_file(folder / "a_0GenericAffine.mat", folder / "p_0GenericAffine.mat");
  const std::string apply = regtool + " apply -i m.nii.gz -r f.nii.gz -o w.nii.gz ";
  expect_refusal(run(apply + "-t p_0GenericAffine.mat -t p_1Warp.nii"),
                 "leads nowhere: onto the fixed image's grid it is -t p_1Warp.nii -t ");
  const Outcome half = run(apply + "-t p_1Warp.nii");
  EXPECT_EQ(half.status, 0);
  EXPECT_NE(half.err.find("'p_1Warp.nii' is half of its registration"), std::string::npos);
}

TEST_F(Regtool, InvertsAndMeasuresVolumes) {
  ASSERT_EQ(run(regtool + " invert -t a_0GenericAffine.mat -o inverse.mat").status, 0);
  expect_refusal(run(regtool + " invert -t a_0GenericAffine.mat --moving m.nii.gz -o no.mat"),
                 "leave it out");
  const Eigen::Affine3d a = read_affine((folder / "a_0GenericAffine.mat").string());
  const Eigen::Affine3d b = read_affine((folder / "inverse.mat").string());
  EXPECT_TRUE((a * b).isApprox(Eigen::Affine3d::Identity(), 1e-9));
  const Outcome field = run(regtool + " invert -t a_1Warp.nii.gz -o inverse.nii.gz");
  ASSERT_EQ(field.status, 0);
  EXPECT_EQ(field.err, "") << "a deformation leads little beyond its grid";
  ASSERT_EQ(run(regtool + " jacobian -r f.nii.gz -o j.nii.gz" + forth).status, 0);
  ASSERT_EQ(run(regtool + " jacobian --log -r f.nii.gz -o log.nii.gz" + forth).status, 0);
  const HostImage j = read("j.nii.gz"), l = read("log.nii.gz");
  for (std::size_t i = 0; i < j.voxels.size(); ++i)
    ASSERT_NEAR(std::log(j.voxels[i]), l.voxels[i], 1e-5);
  const Outcome info = run(regtool + " info a_1Warp.nii.gz");
  EXPECT_EQ(info.status, 0);
  EXPECT_EQ(run(regtool + " info a_0GenericAffine.mat").status, 0);
  EXPECT_EQ(run(regtool + " info f.nii.gz").status, 0);
}

// What leads back begins where the chain ends: in the space of the moving image.
TEST_F(Regtool, InvertsAChainOnTheMovingGrid) {
  ASSERT_EQ(run(regtool + " convert --to itk -o whole.h5" + forth).status, 0);
  expect_refusal(run(regtool + " invert -t whole.h5 -o back.nii.gz"), "--moving IMAGE");
  ASSERT_EQ(run(regtool + " invert -t whole.h5 --moving m.nii.gz -o back.nii.gz").status, 0);
  const Eigen::Vector3d middle = read("f.nii.gz").geometry.center();
  std::ofstream(folder / "p.csv") << middle.x() << ',' << middle.y() << ',' << middle.z() << '\n';
  const std::string points = regtool + " points --direction fixed-to-moving -i ";
  ASSERT_EQ(run(points + "p.csv -o there.csv -t whole.h5").status, 0);
  ASSERT_EQ(run(points + "there.csv -o again.csv -t back.nii.gz").status, 0);
  Eigen::Vector3d again;
  ASSERT_EQ(std::sscanf(slurp(folder / "again.csv").c_str(), "%lf,%lf,%lf", &again.x(), &again.y(),
                        &again.z()),
            3);
  EXPECT_LT((again - middle).norm(), 0.05);
}

// As of an image that is resampled.
TEST_F(Regtool, SaysWhereTheReferenceLiesInTwoPlaces) {
  std::string bytes = slurp(folder / "f.nii.gz");
  HostImage image = read("f.nii.gz");
  write_image((folder / "two.nii").string(), image.geometry, image.voxels);
  bytes = slurp(folder / "two.nii");
  const float there = 500;
  const std::int16_t code = 4;
  std::memcpy(bytes.data() + 254, &code, sizeof code);
  std::memcpy(bytes.data() + 292, &there, sizeof there);
  std::ofstream(folder / "two.nii", std::ios::binary) << bytes;
  const Outcome o = run(regtool + " apply -i m.nii.gz -r two.nii -o w.nii.gz" + forth);
  EXPECT_NE(o.err.find("qform and sform differ"), std::string::npos) << o.err;
}

TEST_F(Regtool, SaysWhatItTakesTheReferencesNumbersFor) {
  const HostImage image = read("f.nii.gz");
  write_image((folder / "plain.nrrd").string(), image.geometry, image.voxels);
  std::string nrrd = slurp(folder / "plain.nrrd");
  nrrd.insert(nrrd.find("sizes:"), "space units: \"um\" \"um\" \"um\"\n");
  std::ofstream(folder / "um.nrrd", std::ios::binary) << nrrd;
  write_image((folder / "plain.mgh").string(), image.geometry, image.voxels);
  std::string mgh = slurp(folder / "plain.mgh");
  mgh[28] = mgh[29] = 0;
  std::ofstream(folder / "nowhere.mgh", std::ios::binary) << mgh;
  const std::string um = "'um.nrrd': its header names um as the unit of length",
                    nowhere = "'nowhere.mgh' declares no orientation";
  for (const auto& [file, words] : {std::pair("um.nrrd", um), {"nowhere.mgh", nowhere}})
    for (const std::string command :
         {" compose", " jacobian", " apply -i plain.nrrd", " apply -i "}) {
      std::string call = regtool + command;
      if (command == " apply -i ") call += file;
      call.append(" -o w.nii.gz -r ").append(file);
      if (!command.starts_with(" apply")) call += " -t a_0GenericAffine.mat";
      const Outcome o = run(call);
      EXPECT_EQ(o.status, 0) << call << ": " << o.err;
      const auto at = o.err.find(words);
      EXPECT_NE(at, std::string::npos) << call << ": " << o.err;
      EXPECT_EQ(o.err.find(words, at + 1), std::string::npos) << "once\n" << o.err;
    }
}

TEST_F(Regtool, ConvertsThereAndBack) {
  const std::string grids = " --fixed f.nii.gz --moving m.nii.gz ";
  ASSERT_EQ(run(regtool + " convert -t a_0GenericAffine.mat --to fsl -o flirt.mat" + grids).status,
            0);
  ASSERT_EQ(run(regtool + " convert -t flirt.mat --from fsl --to itk -o again.mat" + grids).status,
            0);
  const Eigen::Affine3d a = read_affine((folder / "a_0GenericAffine.mat").string());
  EXPECT_TRUE(a.isApprox(read_affine((folder / "again.mat").string()), 1e-6));
  ASSERT_EQ(run(regtool + " convert --to itk -o whole.h5" + forth).status, 0);
  ASSERT_EQ(run(regtool + " apply -i m.nii.gz -r f.nii.gz -o one.nii.gz -t whole.h5").status, 0);
  ASSERT_EQ(run(regtool + " apply -i m.nii.gz -r f.nii.gz -o two.nii.gz" + forth).status, 0);
  EXPECT_EQ(read("one.nii.gz").voxels, read("two.nii.gz").voxels);
  expect_refusal(run(regtool + " convert -t a_0GenericAffine.mat --to fsl -o out.mat"), "--fixed");
  expect_refusal(run(regtool + " convert -t a_1Warp.nii.gz --to sms -o out.nii.gz"), "freesurfer");
}

TEST_F(Regtool, RefusesUnusableCalls) {
  const std::string apply = regtool + " apply -r f.nii.gz -o out.nii.gz ";
  expect_refusal(run(apply), "-i");
  expect_refusal(run(regtool + " apply -i m.nii.gz -r f.nii.gz -o ''"), "with -o OUT");
  expect_refusal(run(apply + "-i m.nii.gz f.nii.gz"), "one for each");
  expect_refusal(run(apply + "-i missing.nii.gz"), "missing.nii.gz");
  expect_refusal(run(apply + "-i m.nii.gz -t missing.mat"), "missing.mat");
  expect_refusal(run(apply + "-i m.nii.gz -t [a_0GenericAffine.mat,2]"), "[FILE,1]");
  expect_refusal(run(apply + "-i m.nii.gz --interpolation bspline"), "cubic");
  expect_refusal(run(apply + "-i a_Warped.nii.gz --interpolation labels"), "no integer");
  expect_refusal(
      run(regtool + " apply -i m.nii.gz m.nii.gz -r f.nii.gz -o out.nii.gz ./out.nii.gz" + forth),
      "-o names './out.nii.gz' twice; name an output for each input");
  expect_refusal(run(regtool + " apply -i m.nii.gz -r f.nii.gz -o m.nii.gz" + forth),
                 "also an input");
  expect_refusal(run(regtool + " apply -i m.nii.gz f.nii.gz -o new/m.nii.gz new/f.nii.gz -r "
                               "missing.nii.gz"),
                 "missing.nii.gz");
  EXPECT_FALSE(std::filesystem::exists(folder / "new")) << "the folder of two outputs";
  expect_refusal(run(regtool + " transmogrify"), "--help");
  EXPECT_EQ(run(regtool + " --help").status, 0);
  for (std::string command :
       {" apply", " points", " compose", " invert", " jacobian", " convert", " info"})
    EXPECT_EQ(run(regtool + command.append(" --help")).status, 0) << command;
}

}  // namespace regtool_test
}  // namespace freeflow
