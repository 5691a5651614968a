// Images that end in a plane within their grid, as a user meets them.
#include <apps/intensities.h>
#include <apps/measured_part.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace measured_part_test {

using namespace test;
using apps::measured_part;
using apps::words_of;

constexpr Extent grid{40, 44, 36};

/// A head of which `keeps(x, y, z)` says what is left, in a background of 0.
template <class Keeps>
HostImage head_where(const Keeps& keeps, const Eigen::Affine3d& moved) {
  Geometry g = plain_geometry(grid, 2);
  g.origin = -g.center();
  Context cpu;
  HostImage image;
  image.geometry = g;
  image.voxels = sample_world(cpu, g, [&](const Eigen::Vector3d& p) {
                   return head(moved * p, 24);
                 }).to_host(cpu);
  for (int z = 0; z < grid.z; ++z)
    for (int y = 0; y < grid.y; ++y)
      for (int x = 0; x < grid.x; ++x) {
        float& v = image.voxels[grid.offset(x, y, z)];
        v = keeps(x, y, z) && v > 1 ? v : 0;
      }
  return image;
}

template <class Keeps>
HostImage head_where(const Keeps& keeps) {
  return head_where(keeps, Eigen::Affine3d::Identity());
}

bool all(int, int, int) { return true; }
bool left(int x, int, int) { return x < 21; }

TEST(MeasuredPart, IsBeforeThePlaneInWhichAnImageEnds) {
  EXPECT_FALSE(measured_part(head_where(all)).has_value());
  const auto half = measured_part(head_where([](int x, int, int) { return x < 20; }));
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(half->box.begin, (std::array{0, 0, 0}));
  EXPECT_EQ(half->box.end, (std::array{20, 44, 36}));
  EXPECT_EQ(words_of(half->box, grid), "0 to 19 of 40 along x");
  const auto slab = measured_part(head_where([](int, int y, int) { return y > 15 && y < 26; }));
  ASSERT_TRUE(slab.has_value());
  EXPECT_EQ(words_of(slab->box, grid), "16 to 25 of 44 along y");
}

TEST(MeasuredPart, OfWhatWasCutOutEndsWhereItsNaNBegins) {
  HostImage half = head_where([](int x, int, int) { return x < 20; });
  for (float& v : half.voxels) v = v > 0 ? v : NAN;
  EXPECT_FALSE(measured_part(half).has_value());
  const auto part = measured_part(half, true);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(words_of(part->box, grid), "0 to 19 of 40 along x");
  apps::IntensityOptions options;
  options.cut_out = apps::is_cut_out(half);
  options.measured = part->box;
  apps::prepare_intensities(half, options);
  EXPECT_TRUE(std::isnan(half.voxels[grid.offset(20, 22, 18)])) << "beyond the plane";
}

TEST(MeasuredPart, EndsWhereNoiseEndsToo) {
  HostImage noisy = head_where(all);
  for (std::size_t i = 0; i < noisy.voxels.size(); ++i)
    noisy.voxels[i] +=
        i >= std::size_t(grid.offset(0, 0, 22)) ? -noisy.voxels[i] : float(i * 7 % 31);
  const auto part = measured_part(noisy);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(words_of(part->box, grid), "0 to 21 of 36 along z");
}

TEST(MeasuredPart, IsAFieldOfViewOnALargerGridAndNoBoxOfOneValue) {
  HostImage image = head_where(all);
  const auto fill = [&](const auto& value) {
    for (int z = 0; z < grid.z; ++z)
      for (int y = 0; y < grid.y; ++y)
        for (int x = 0; x < grid.x; ++x) {
          const bool within = x >= 8 && x < 32 && y >= 10 && y < 40 && z < 20;
          image.voxels[grid.offset(x, y, z)] = within ? value(x, y, z) : 0.0F;
        }
  };
  const auto textured = [](int x, int y, int z) { return float((7 * x + 5 * y + 3 * z) % 17); };
  fill(textured);
  const auto part = measured_part(image);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(words_of(part->box, grid),
            "8 to 31 of 40 along x, 10 to 39 of 44 along y, 0 to 19 of 36 along z");
  fill([](int, int, int) { return 5.0F; });
  EXPECT_FALSE(measured_part(image).has_value()) << "an object";
  fill(
      [&](int x, int y, int z) { return std::hypot(x - 20, y - 25) < 11 ? textured(x, y, z) : 0; });
  const auto cylinder = measured_part(image);
  EXPECT_FALSE(cylinder && cylinder->fills_box) << "fills 79 %";
}

TEST(MeasuredPart, IsNothingForBoxesRimsAndWhatHasNoBackground) {
  HostImage image = head_where(all);
  std::fill(image.voxels.begin(), image.voxels.end(), 0.0F);
  EXPECT_FALSE(measured_part(image).has_value()) << "constant";
  for (int z = 10; z < 20; ++z)
    for (int y = 10; y < 20; ++y) std::fill_n(&image.voxels[grid.offset(10, y, z)], 10, 5.0F);
  EXPECT_FALSE(measured_part(image).has_value()) << "a box ends in six planes";
  std::fill(image.voxels.begin(), image.voxels.end(), 7.0F);
  for (int z = 0; z < grid.z; ++z)
    for (int y = 0; y < grid.y; ++y) {
      image.voxels[grid.offset(0, y, z)] = 0;
      image.voxels[grid.offset(1, y, z)] = 0;
    }
  EXPECT_FALSE(measured_part(image).has_value()) << "a rim of two voxels";
  std::fill(image.voxels.begin(), image.voxels.end(), NAN);
  EXPECT_FALSE(measured_part(image).has_value());
}

TEST(MeasuredPart, OfAPaddedImageIsWithinItsPadding) {
  constexpr float padding = -3000;
  const auto padded = [](HostImage image) {
    for (int z = 0; z < grid.z; ++z)
      for (int y = 0; y < grid.y; ++y)
        for (int x = 0; x < grid.x; ++x)
          if (x < 2 || x >= 38 || z < 3) image.voxels[grid.offset(x, y, z)] = padding;
    return image;
  };
  const HostImage whole = padded(head_where(all)), half = padded(head_where(left));
  EXPECT_FALSE(measured_part(whole, false, padding).has_value());
  const auto part = measured_part(half, false, padding);
  ASSERT_TRUE(part.has_value());
  EXPECT_FALSE(part->fills_box);
  EXPECT_EQ(words_of(part->box, grid), "2 to 20 of 40 along x, 3 to 35 of 36 along z");
}

class HalfAHead : public ProgramTest {
 protected:
  static Eigen::Affine3d truth() { return Eigen::Affine3d(Eigen::Translation3d(5, -4, 3)); }
  void write(const std::string& name, const HostImage& image) const {
    write_image((folder / name).string(), image.geometry, image.voxels, StoredType::float32, 1);
  }
  double error(const std::string& file) const {
    const Eigen::Affine3d found = read_affine((folder / file).string());
    const Eigen::Vector3d p(-15, 10, 10);
    return (found * p - truth() * p).norm();
  }
};

TEST_F(HalfAHead, IsNotStretchedOverTheWhole) {
  const HostImage half = head_where(left);
  write("f.nii", head_where(all, truth()));
  write("m.nii", half);
  HostImage unmeasured = half;
  apps::prepare_intensities(unmeasured, {{}, {}, measured_part(half)->box});
  write("nan.nii", unmeasured);
  const std::string linreg = program_path("linreg") + " -f f.nii --search gradient ";
  const Outcome found = run(linreg + "-m m.nii -o out_"), same = run(linreg + "-m nan.nii -o nan_");
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_NE(found.err.find("'m.nii' ends in a plane within its grid: only its voxels 0 to 20 of 40 "
                           "along x count as measured; --moving-mask says otherwise"),
            std::string::npos)
      << found.err;
  EXPECT_LT(error("out_0GenericAffine.mat"), 1.5);
  EXPECT_EQ(slurp(folder / "out_0GenericAffine.mat"), slurp(folder / "nan_0GenericAffine.mat"));
  EXPECT_EQ(same.err.find("ends in a plane"), std::string::npos) << "said of what has no value";
  EXPECT_NE(slurp(folder / "out_report.json").find("\"voxels_measured\": 33264"),
            std::string::npos);
  const auto similarity_of = [this](const char* report) {
    const std::string text = slurp(folder / report);
    return text.substr(text.find("\"similarity\": {"), 150);
  };
  EXPECT_EQ(similarity_of("out_report.json"), similarity_of("nan_report.json"));
  const HostImage warped = read_image((folder / "out_Warped.nii.gz").string());
  EXPECT_EQ(std::ranges::count_if(warped.voxels, [](float v) { return std::isnan(v); }), 0)
      << "what is written is as measured";
}

TEST_F(HalfAHead, IsSeenBesideAPaddedWhole) {
  HostImage padded = head_where(all);
  for (int z = 0; z < grid.z; ++z)
    for (int y = 0; y < grid.y; ++y)
      for (int x = 0; x < grid.x; ++x)
        if (x < 2 || y < 2) padded.voxels[grid.offset(x, y, z)] = -3000;
  write("f.nii", head_where(left, truth()));
  write("m.nii", padded);
  const Outcome o =
      run(program_path("linreg") + " --search gradient -f f.nii -m m.nii -o out_ --dof 6");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("'m.nii' is padded with -3000"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("'f.nii' ends in a plane within its grid: only its voxels 0 to 20 of 40"),
            std::string::npos)
      << o.err;
  EXPECT_LT(error("out_0GenericAffine.mat"), 1.5);
}

TEST_F(HalfAHead, CountsAsItIsBesideAnotherHalfOrUnderAMask) {
  write("f.nii", head_where(left, truth()));
  write("m.nii", head_where(left));
  HostImage whole = head_where(all);
  write("whole.nii", whole);
  std::fill(whole.voxels.begin(), whole.voxels.end(), 1.0F);
  write("mask.nii", whole);
  const std::string linreg = program_path("linreg") + " --search gradient -m m.nii -o out_ ";
  for (const char* rest :
       {"-f f.nii", "-f whole.nii --moving-mask mask.nii", "-f whole.nii --background 0"}) {
    const Outcome o = run(linreg + rest);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.err.find("ends in a plane"), std::string::npos) << rest << o.err;
  }
}

}  // namespace measured_part_test
}  // namespace freeflow
