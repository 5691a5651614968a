// elastix' parameter files, made as elastix writes them and mapped by ITK's definitions.
#include <fstream>

#include "transform_test_support.h"

namespace freeflow::test {
namespace {

Eigen::Matrix3d about_axis(int axis, double angle) {
  return Eigen::AngleAxisd(angle, Eigen::Vector3d::Unit(axis)).toRotationMatrix();
}

class Elastix : public ::testing::Test {
 protected:
  /// A file of lines in brackets, as of a registration of images of three dimensions.
  std::string write(const std::string& name, const std::string& lines) const {
    std::ofstream(folder / name) << "(FixedImageDimension 3)\n(MovingImageDimension 3)\n" << lines;
    return folder / name;
  }
  std::string linear(const std::string& name, const std::string& kind, const std::string& numbers,
                     const std::string& more = "") const {
    return write(name, "(Transform \"" + kind + "\")\n(TransformParameters " + numbers +
                           ")\n(CenterOfRotationPoint 4 -5 6)\n" + more);
  }
  static Eigen::Vector3d mapped(const std::string& path, const Eigen::Vector3d& point) {
    return map_point(read_transform_file(path), point);
  }
  /// A spline on the oblique geometry's voxels of `displacement` of the lattice's places, with the
  /// fixed image's grid.
  template <class F>
  std::string spline(const std::string& name, F&& displacement,
                     const std::string& more = "") const {
    Geometry lattice = fixed;
    lattice.spacing *= 3;
    lattice.extent = {8, 9, 8};
    lattice.origin -= lattice.direction * (1.5 * lattice.spacing);
    std::ostringstream text;
    text.precision(17);
    text << "(Transform \"BSplineTransform\")\n(TransformParameters";
    const Eigen::Affine3d to_world = lattice.index_to_world();
    for (int c = 0; c < 3; ++c)
      for (int z = 0; z < lattice.extent.z; ++z)
        for (int y = 0; y < lattice.extent.y; ++y)
          for (int x = 0; x < lattice.extent.x; ++x)
            text << ' ' << displacement(to_world * Eigen::Vector3d(x, y, z))[c];
    text << ")\n";
    const auto grid = [&](const std::string& begin, const Geometry& g) {
      // The origin is that of index 0, which need not be the first.
      const Eigen::Vector3d first = begin.empty() ? Eigen::Vector3d(2, -1, 3)
                                                  : Eigen::Vector3d(0, 0, 0),
                            origin = g.origin - g.direction * g.spacing.cwiseProduct(first);
      text << '(' << begin << "Size " << g.extent.x << ' ' << g.extent.y << ' ' << g.extent.z
           << ")\n(" << begin << "Index " << first.transpose() << ")\n(" << begin << "Spacing "
           << g.spacing.transpose() << ")\n(" << begin << "Origin " << origin.transpose() << ")\n("
           << begin << "Direction";
      for (int column = 0; column < 3; ++column) text << ' ' << g.direction.col(column).transpose();
      text << ")\n";
    };
    grid("", fixed);
    grid("Grid", lattice);
    return write(name, text.str() + more);
  }
  void expect_refusal(const std::string& path, const std::string& words) const {
    expect_io_error([&] { read_transform_file(path, TransformFormat::elastix); }, {path, words});
  }

  TemporaryFolder folder;
  const Geometry fixed = six_geometries()[2].second;
  const Eigen::Vector3d centre{4, -5, 6}, point{11, 7, -3};
};

TEST_F(Elastix, LinearTransformsAreThoseOfItk) {
  const Eigen::Vector3d shift(1, 2, -3), from = point - centre;
  const auto expect = [&](const std::string& path, const Eigen::Vector3d& there) {
    EXPECT_EQ(detect(path), TransformFormat::elastix);
    EXPECT_LT((mapped(path, point) - there).norm(), 1e-12) << path;
  };
  expect(linear("t.txt", "TranslationTransform", "1 2 -3"), point + shift);
  const Eigen::Matrix3d x = about_axis(0, 0.3), y = about_axis(1, -0.2), z = about_axis(2, 0.4);
  expect(linear("e.txt", "EulerTransform", "0.3 -0.2 0.4 1 2 -3"),
         z * x * y * from + centre + shift);
  expect(linear("zyx.txt", "EulerTransform", "0.3 -0.2 0.4 1 2 -3", "(ComputeZYX \"true\")\n"),
         z * y * x * from + centre + shift);
  expect(linear("s.txt", "SimilarityTransform", "0 0 0.6 1 2 -3 1.25"),
         1.25 * (about_axis(2, 2 * std::asin(0.6)) * from) + centre + shift);
  Eigen::Matrix3d m;
  m << 1.1, 0.2, 0, -0.1, 0.9, 0.3, 0.05, 0, 1.2;
  expect(linear("a.txt", "AffineTransform", "1.1 0.2 0 -0.1 0.9 0.3 0.05 0 1.2 1 2 -3"),
         m * from + centre + shift);
}

TEST_F(Elastix, InitialTransformsAreAppliedFirstWhereverTheyLie) {
  linear("0.txt", "EulerTransform", "0.3 0 0 1 2 -3");
  const Eigen::Vector3d first = about_axis(0, 0.3) * (point - centre) + centre +
                                Eigen::Vector3d(1, 2, -3),
                        both = first + Eigen::Vector3d(0, 5, 0);
  for (const std::string key :
       {"InitialTransformParameterFileName", "InitialTransformParametersFileName"})
    for (const std::string& name :
         {folder / "0.txt", std::string("0.txt"), std::string("/gone/run/0.txt"),
          std::string("C:\\gone (old)\\0.txt")}) {
      std::string more = "(";
      more.append(key).append(" \"").append(name).append("\") // a remark (of a user)\n");
      const std::string path = linear("1.txt", "TranslationTransform", "0 5 0  ",
                                      more.append("(HowToCombineTransforms \"Compose\")\n"));
      EXPECT_LT((mapped(path, point) - both).norm(), 1e-12) << name;
    }
}

/// A cubic B-spline of a linear function's values is that function.
TEST_F(Elastix, SplinesAreEvaluatedOnTheFixedGridBehindWhatComesFirst) {
  const auto slope = [](const Eigen::Vector3d& p) {
    return Eigen::Vector3d(0.02 * p.x() - 0.03 * p.z() + 1, 0.01 * p.y() + 2, 0.04 * p.x() - 1);
  };
  const std::string alone = spline("s.txt", slope);
  const HostTransform read = read_transform_file(alone);
  ASSERT_EQ(read.steps.size(), 1U);
  EXPECT_TRUE(same_grid(std::get<HostField>(read.steps[0]).geometry, fixed)) << "the file's own";
  linear("0.txt", "TranslationTransform", "0.7 -0.4 0.5");
  const std::string behind =
      spline("b.txt", slope, "(InitialTransformParameterFileName \"0.txt\")\n");
  const Eigen::Vector3d shift(0.7, -0.4, 0.5);
  for (const Eigen::Vector3d& index : {Eigen::Vector3d(2, 3, 4), Eigen::Vector3d(5, 8, 3)}) {
    const Eigen::Vector3d p = fixed.index_to_world() * index;
    EXPECT_LT((mapped(alone, p) - (p + slope(p))).norm(), 1e-5);
    EXPECT_LT((mapped(behind, p) - (p + shift + slope(p + shift))).norm(), 1e-5);
  }
  // Far from the lattice, as in ITK, nothing is displaced; another grid may be asked for.
  TransformContext context;
  context.fixed = moving_grid();
  context.fixed->origin += Eigen::Vector3d(500, 0, 0);
  const HostTransform far = read_transform_file(alone, {}, context);
  EXPECT_TRUE(same_grid(std::get<HostField>(far.steps[0]).geometry, *context.fixed));
  EXPECT_LT((map_point(far, context.fixed->center()) - context.fixed->center()).norm(), 1e-9);
}

TEST_F(Elastix, WhatIsNotReadIsSaid) {
  expect_refusal(linear("x.txt", "SplineKernelTransform", "1"),
                 "its SplineKernelTransform is not read; let transformix -def all write its field");
  expect_refusal(linear("x.txt", "EulerTransform", "1 2 3"),
                 "it lacks (TransformParameters ...) with 6 numbers");
  expect_refusal(linear("x.txt", "TranslationTransform", "1 two 3"),
                 "'two' in (TransformParameters ...) is no finite number");
  expect_refusal(linear("x.txt", "TranslationTransform", "1 2 3", "(Size 3 4"),
                 "it is cut short after '(Size 3 4'");
  expect_refusal(linear("x.txt", "TranslationTransform", "1 2 3", "(FixedImageDimension 2)\n"),
                 "not of three dimensions");
  expect_refusal(
      linear("x.txt", "TranslationTransform", "1 2 3", "(UseDirectionCosines \"false\")\n"),
      "it leaves the images' directions out");
  const std::string initial = "(InitialTransformParameterFileName \"";
  expect_refusal(linear("x.txt", "TranslationTransform", "1 2 3", initial + "gone.txt\")\n"),
                 "its initial transform 'gone.txt' is not there");
  expect_refusal(linear("x.txt", "TranslationTransform", "1 2 3", initial + "x.txt\")\n"),
                 "its initial transforms name each other");
  expect_refusal(linear("x.txt", "TranslationTransform", "1 2 3",
                        initial + "x.txt\")\n(HowToCombineTransforms \"Add\")\n"),
                 "it adds its transform to the initial one");
  const auto none = [](const Eigen::Vector3d&) { return Eigen::Vector3d::Zero().eval(); };
  expect_refusal(spline("x.txt", none, "(UseCyclicTransform \"true\")\n"),
                 "its BSplineTransform is not read");
  expect_refusal(spline("x.txt", none, "(GridSize 8 9 1e300)\n"),
                 "its (GridSize ...) or (GridSpacing ...) is of no grid");
  expect_refusal(spline("x.txt", none, "(Spacing 1 -1 1)\n"),
                 "its (Size ...) or (Spacing ...) is of no grid");
  expect_refusal(spline("x.txt", none, "(GridSize 8 9 9)\n"),
                 "it lacks (TransformParameters ...) with 1944 numbers");
}

}  // namespace
}  // namespace freeflow::test
