// Padding of CT, --background and --clip, and thin slabs, as a user meets them.
#include <nlohmann/json.hpp>

#include <apps/intensities.h>
#include <freeflow/deform/warp.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace intensities_test {

using namespace test;
using apps::find_padding;

HostImage image_of(std::vector<float> voxels) {
  HostImage image;
  image.geometry.extent = {int(voxels.size()), 1, 1};
  image.voxels = std::move(voxels);
  return image;
}

TEST(Padding, IsTheLeastValueFarBelowAllOthers) {
  std::vector<float> ct(1000, -1000.0f);
  for (int i = 0; i < 1000; ++i) ct[i] += float(i);
  EXPECT_FALSE(find_padding(image_of(ct)).has_value());
  for (const float padding : {-2000.0f, -3024.0f, -32768.0f}) {
    std::vector<float> padded = ct;
    padded[7] = padded[500] = padding;
    EXPECT_EQ(find_padding(image_of(padded)), padding);
  }
  ct[7] = -1399;  // metal's shadow
  EXPECT_FALSE(find_padding(image_of(ct)).has_value());
  EXPECT_FALSE(find_padding(image_of(std::vector<float>(50, -2000.0f))).has_value()) << "no other";
  std::vector<float> shifted(1000, -32768.0f);  // 16 bits without a sign, read with one
  for (int i = 300; i < 1000; ++i) shifted[i] = -32347 + 40 * float(i);
  EXPECT_FALSE(find_padding(image_of(shifted)).has_value());
  std::vector<float> mr(1000, 0.0f);  // a head without its skull
  std::fill(mr.begin(), mr.begin() + 300, 5000.0f);
  EXPECT_FALSE(find_padding(image_of(mr)).has_value());
}

TEST(Padding, IsTheOnlyNegativeValueAroundAFieldOfView) {
  constexpr Extent n{40, 40, 40};
  const auto image_where = [&](float fill, const auto& inside) {
    HostImage image;
    image.geometry.extent = n;
    for (int z = -20; z < 20; ++z)
      for (int y = -20; y < 20; ++y)
        for (int x = -20; x < 20; ++x)
          image.voxels.push_back(inside(x, y, z) ? float(std::max(x, 0)) * 10 : fill);
    return image;
  };
  const auto box = [](int x, int y, int z) {
    return std::abs(x + y) < 16 && std::abs(x - y) < 18 && std::abs(z) < 12;
  };
  EXPECT_EQ(find_padding(image_where(-1000, box)), -1000.0f);
  EXPECT_EQ(find_padding(image_where(-50, box)), -50.0f);
  EXPECT_FALSE(find_padding(image_where(-10, box)).has_value()) << "too near";
  EXPECT_FALSE(find_padding(image_where(0, box)).has_value()) << "background";
  HostImage also = image_where(-1000, box);
  also.voxels[n.offset(20, 20, 20)] = -1;
  EXPECT_FALSE(find_padding(also).has_value()) << "other negative values";
  const auto two_halves = [](int x, int y, int z) { return std::hypot(std::abs(x) - 9, y, z) < 9; };
  EXPECT_FALSE(find_padding(image_where(-1000, two_halves)).has_value()) << "an object";
}

TEST(Padding, ClipWords) {
  EXPECT_EQ(apps::parse_clip("-1000,400"), (std::pair{-1000.0f, 400.0f}));
  for (const char* wrong : {"", "1", "1,", ",1", "2,1", "1,1", "a,b", "1,2,3", "nan,1", "0,inf"})
    EXPECT_THROW(apps::parse_clip(wrong), InvalidArgument) << wrong;
}

TEST(Padding, BackgroundHasNoValueAndTheRestIsClipped) {
  HostImage image = image_of({-2000, -900, NAN, 50, 900});
  apps::prepare_intensities(image, {-2000.0f, std::pair{-500.0f, 400.0f}});
  EXPECT_TRUE(std::isnan(image.voxels[0]));
  EXPECT_TRUE(std::isnan(image.voxels[2]));
  EXPECT_EQ(image.voxels[1], -500);
  EXPECT_EQ(image.voxels[3], 50);
  EXPECT_EQ(image.voxels[4], 400);
}

const std::string linreg = program_path("linreg");

class Intensities : public ProgramTest {
 protected:
  static Eigen::Affine3d truth() { return Eigen::Affine3d(Eigen::Translation3d(6, -4, 3)); }
  /// A body of about 0 HU in air, measured inside a circle alone where one is given.
  void write(const std::string& name, Extent extent, const Eigen::Affine3d& moved, double circle) {
    Geometry g = plain_geometry(extent, 2);
    g.origin = -g.center();
    Context cpu;
    const auto hu = [&](const Eigen::Vector3d& p) {
      return circle > 0 && p.head<2>().norm() > circle ? -2000 : -1000 + 300 * head(moved * p, 24);
    };
    write_image((folder / name).string(), g, sample_world(cpu, g, hu).to_host(cpu),
                StoredType::int16, 1);
  }
  double error(const std::string& file) const {
    const Eigen::Affine3d found = read_affine((folder / file).string());
    double worst = 0;
    for (int corner = 0; corner < 8; ++corner) {
      const Eigen::Vector3d p(corner & 1 ? 15 : -15, corner & 2 ? 15 : -15, corner & 4 ? 15 : -15);
      worst = std::max(worst, (found * p - truth() * p).norm());
    }
    return worst;
  }
};

TEST_F(Intensities, PaddingIsSaidAsBackgroundTakesIt) {
  Geometry g = plain_geometry({24, 24, 24}, 2);
  g.origin = -g.center();
  Context cpu;
  const auto odd = [](const Eigen::Vector3d& p) {
    return p.norm() > 20 ? -64576.387 : 10 + 300 * head(p, 12);
  };
  write_image((folder / "o.nii").string(), g, sample_world(cpu, g, odd).to_host(cpu),
              StoredType::float32, 1);
  const Outcome found = run(linreg + " -f o.nii -m o.nii -o found_");
  EXPECT_NE(found.err.find("'o.nii' is padded with -64576.387,"), std::string::npos) << found.err;
  const Outcome named = run(linreg + " -f o.nii -m o.nii -o named_ --background -64576.387");
  EXPECT_EQ(named.err.find("value of no voxel"), std::string::npos) << named.err;
}

TEST_F(Intensities, ACircleOfPaddingIsSaidAndPullsNothing) {
  write("f.nii", {40, 40, 32}, truth(), 36);
  write("m.nii", {40, 40, 32}, Eigen::Affine3d::Identity(), 36);
  const std::string call = linreg + " -f f.nii -m m.nii --dof 6 --search gradient ";
  const Outcome found = run(call + "-o out_found_"),
                named = run(call + "-o out_named_ --background -2000");
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_NE(found.err.find("'m.nii' is padded with -2000"), std::string::npos) << found.err;
  EXPECT_EQ(named.err.find("padded"), std::string::npos) << named.err;
  EXPECT_LT(error("out_found_0GenericAffine.mat"), 0.5);
  EXPECT_EQ(slurp(folder / "out_found_0GenericAffine.mat"),
            slurp(folder / "out_named_0GenericAffine.mat"));
  const HostImage warped = read_image((folder / "out_found_Warped.nii.gz").string());
  EXPECT_EQ(*std::min_element(warped.voxels.begin(), warped.voxels.end()), -2000)
      << "what is written is as measured";
  const Outcome clipped = run(call + "-o out_clipped_ --clip -500,300");
  ASSERT_EQ(clipped.status, 0) << clipped.err;
  EXPECT_LT(error("out_clipped_0GenericAffine.mat"), 0.5);
  const HostImage whole = read_image((folder / "out_clipped_Warped.nii.gz").string());
  EXPECT_GT(*std::max_element(whole.voxels.begin(), whole.voxels.end()), 300);
}

TEST_F(Intensities, AReportIsOfWhatWasMeasured) {
  const auto similarity_of = [this](const char* prefix) {
    return nlohmann::json::parse(slurp(folder / (prefix + std::string("report.json"))))
        .at("similarity");
  };
  write("f.nii", {40, 40, 32}, truth(), 30);
  write("m.nii", {40, 40, 32}, Eigen::Affine3d::Identity(), 30);
  for (const char* name : {"f", "m"}) {
    HostImage image = read_image((folder / (name + std::string(".nii"))).string());
    for (float& v : image.voxels) v = v == -2000 ? NAN : v;
    write_image((folder / (name + std::string("_nan.nii"))).string(), image.geometry, image.voxels);
    std::fill(image.voxels.begin(), image.voxels.begin() + 20 * 40 * 40, 0.0F);
    std::fill(image.voxels.begin() + 20 * 40 * 40, image.voxels.end(), 1.0F);
    write_image((folder / (name + std::string("_mask.nii"))).string(), image.geometry,
                image.voxels);
  }
  const std::string how = " --dof 6 --search gradient ",
                    masks = how + "--fixed-mask f_mask.nii --moving-mask m_mask.nii ";
  for (const std::string& rest : {how, masks}) {
    for (const char* call : {"-f f.nii -m m.nii -o pad_", "-f f_nan.nii -m m_nan.nii -o nan_"}) {
      const Outcome o = run(linreg + rest + call);
      ASSERT_EQ(o.status, 0) << o.err;
    }
    EXPECT_EQ(similarity_of("pad_"), similarity_of("nan_")) << rest;
    EXPECT_GT(similarity_of("pad_").at("after"), similarity_of("pad_").at("before")) << rest;
  }
}

TEST_F(Intensities, AFieldOfViewIsJudgedAlikeWhateverLiesAroundIt) {
  write("f.nii", {40, 40, 32}, truth(), 0);
  write("whole.nii", {40, 40, 32}, Eigen::Affine3d::Identity(), 0);
  const HostImage whole = read_image((folder / "whole.nii").string());
  const Extent n = whole.geometry.extent;
  for (const auto& [name, around] : {std::pair{"nan.nii", NAN}, std::pair{"pad.nii", -3000.0F}}) {
    std::vector<float> voxels = whole.voxels;
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x)
          if (x < 8 || x >= 30 || y < 10 || y >= 32 || z < 6 || z >= 26)
            voxels[n.offset(x, y, z)] = around;
    write_image((folder / name).string(), whole.geometry, voxels);
    const Outcome o = run(linreg + " --search gradient --dof 6 -f f.nii -o out_ -m " + name);
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_LT(error("out_0GenericAffine.mat"), 1) << name;
    const auto report = nlohmann::json::parse(slurp(folder / "out_report.json"));
    EXPECT_LT(report["overlap_fraction"]["after"], 0.3) << name;
    EXPECT_EQ(report["moving"]["voxels_counted"], 22 * 22 * 20) << name;
    EXPECT_FALSE(report["fixed"].contains("voxels_counted"));
    EXPECT_EQ(report["summary"]["grade"], "look") << "it warned: " << report["summary"];
  }
}

TEST_F(Intensities, CentresOfMassAreOfWhatCounts) {
  write("f.nii", {40, 40, 32}, truth(), 36);
  write("m.nii", {40, 40, 32}, Eigen::Affine3d::Identity(), 36);
  HostImage metal = read_image((folder / "m.nii").string());
  for (int i = 0; i < 8; ++i) metal.voxels[metal.geometry.extent.offset(8 + i, 20, 3)] = 30000;
  write_image((folder / "metal.nii").string(), metal.geometry, metal.voxels, StoredType::int16, 1);
  const std::string call =
      linreg + " -f f.nii --init moments --search gradient --iterations 0 -o out_ ";
  for (const char* rest :
       {"-m m.nii", "-m m.nii --background -2000", "-m metal.nii --clip -1000,0"}) {
    const Outcome o = run(call + rest);
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_LT(error("out_0GenericAffine.mat"), 1) << rest;
  }
}

TEST_F(Intensities, NaNAroundWhatWasCutOutCountsAsBackground) {
  write("f.nii", {40, 40, 32}, truth(), 0);
  write("m.nii", {40, 40, 32}, Eigen::Affine3d::Identity(), 0);
  HostImage masked = read_image((folder / "m.nii").string());
  const Extent n = masked.geometry.extent;
  for (int z = 0; z < n.z; ++z)  // leaves two halves with a gap between them
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        float& v = masked.voxels[n.offset(x, y, z)];
        v = v > -950 && (std::abs(x - 20) > 3 || y > 20) ? v : NAN;
      }
  const auto write_masked = [&](const char* name) {
    write_image((folder / name).string(), masked.geometry, masked.voxels, StoredType::float32, 1);
  };
  write_masked("nan.nii");
  const float least = apps::smallest_value(masked.voxels);
  for (float& v : masked.voxels) v = std::isnan(v) ? least : v;
  write_masked("filled.nii");
  const std::string call = linreg + " -f f.nii --dof 6 --search gradient ";
  const Outcome found = run(call + "-m nan.nii -o nan_"),
                same = run(call + "-m filled.nii -o fill_"),
                named = run(call + "-m nan.nii -o named_ --background nan");
  ASSERT_EQ(found.status, 0) << found.err;
  const char* const said =
      "'nan.nii' has NaN around its object, which counts as its background; "
      "--background nan says that it was not measured";
  EXPECT_NE(found.err.find(said), std::string::npos) << found.err;
  const std::string transform = slurp(folder / "nan_0GenericAffine.mat");
  EXPECT_EQ(transform, slurp(folder / "fill_0GenericAffine.mat"));
  ASSERT_EQ(named.status, 0) << named.err;
  EXPECT_EQ(named.err.find("around its object"), std::string::npos) << named.err;
  EXPECT_NE(transform, slurp(folder / "named_0GenericAffine.mat"));
}

TEST_F(Intensities, BadWordsAreRefused) {
  write("f.nii", {20, 20, 20}, truth(), 0);
  for (const char* wrong : {"--clip 5", "--clip 5,1", "--background air", "--background inf"})
    expect_refusal(run(linreg + " -f f.nii -m f.nii -o out_ " + wrong), "is not");
}

TEST_F(Intensities, WhatLeavesNothingOrDoesNothingIsSaid) {
  write("f.nii", {20, 20, 20}, truth(), 0);
  const std::string call = linreg + " -f f.nii -m f.nii --search gradient ";
  for (const char* beyond : {"--clip 50000,60000", "--clip -60000,-50000"})
    expect_refusal(run(call + "-o out_ " + beyond), "leaves one value of 'f.nii'");
  const Outcome o = run(call + "-o a_ --background 12345");
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("--background 12345 is the value of no voxel"), std::string::npos) << o.err;
}

TEST_F(Intensities, AClipThatFitsOneImageIsSaid) {
  write("f.nii", {20, 20, 20}, truth(), 0);
  HostImage from_zero = read_image((folder / "f.nii").string());
  for (float& v : from_zero.voxels) v += 1024;
  write_image((folder / "m.nii").string(), from_zero.geometry, from_zero.voxels);
  const std::string call = linreg + " -f f.nii -o out_ --search gradient --levels 1 --iterations 1";
  const Outcome unlike = run(call + " --clip -1000,100 -m m.nii");
  ASSERT_EQ(unlike.status, 0) << unlike.err;
  EXPECT_NE(unlike.err.find("--clip -1000,100 cuts "), std::string::npos) << unlike.err;
  EXPECT_NE(unlike.err.find(" % of 'm.nii' at its upper end: are their numbers in one unit?"),
            std::string::npos)
      << unlike.err;
  EXPECT_EQ(run(call + " --clip -1000,100 -m f.nii").err.find("at its upper end"),
            std::string::npos);
}

TEST_F(Intensities, LengthsOfAnotherUnitAreDoubted) {
  write("f.nii", {20, 20, 20}, Eigen::Affine3d::Identity(), 0);
  HostImage micrometres = read_image((folder / "f.nii").string());
  micrometres.geometry.spacing *= 1000;
  micrometres.geometry.origin *= 1000;
  write_image((folder / "m.nii").string(), micrometres.geometry, micrometres.voxels);
  const std::string quick = " -o out_ -s ssd --dof 6 --search gradient --levels 1 --iterations 2";
  for (const std::string moving : {"m.nii", "f.nii"}) {
    std::string call = linreg;
    const Outcome o = run(call.append(" -f f.nii -m ").append(moving).append(quick));
    EXPECT_EQ(o.err.find("'f.nii' is 40 mm long and 'm.nii' 40000: are the lengths of "
                         "one header in another unit?") != std::string::npos,
              moving == "m.nii")
        << o.err;
  }
}

TEST_F(Intensities, ASlabIsRegisteredWhicheverImageItIs) {
  write("head.nii", {40, 40, 40}, Eigen::Affine3d::Identity(), 0);
  write("slab.nii", {40, 40, 3}, truth(), 0);  // 7.5 % of the head's slices, moved by 3 mm
  write("thin.nii", {24, 24, 2}, truth(), 0);  // 1.8 % of its voxels
  for (const char* name : {"slab.nii", "thin.nii"})
    for (const bool moving : {false, true}) {
      const std::string slab(name), f = moving ? "head.nii" : slab, m = moving ? slab : "head.nii";
      std::string call = linreg;
      call.append(" -f ").append(f).append(" -m ").append(m);
      const Outcome o = run(call.append(" -o out_ --dof 6 --search gradient -q"));
      EXPECT_EQ(o.status, 0) << f << " <- " << m << ": " << o.err;
    }
}

}  // namespace intensities_test
}  // namespace freeflow
