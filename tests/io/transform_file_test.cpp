// Affine transforms: the bytes of ITK's files, every linear class, composites and refusals.
#include <freeflow/io/transform_file.h>

#include <sstream>

#include <freeflow/io/transforms/host_transform.h>

#include "io_test_support.h"

namespace freeflow::test {
namespace {

const Eigen::Vector3d center(10, -20, 30);

Eigen::Affine3d sample_affine() {
  Eigen::Affine3d affine = Eigen::Translation3d(3, -4, 5) *
                           Eigen::AngleAxisd(0.3, Eigen::Vector3d(1, 2, 3).normalized());
  affine.linear() *= (Eigen::Matrix3d() << 1.1, 0.05, 0, 0, 0.9, -0.02, 0.01, 0, 1.2).finished();
  return affine;
}

void expect_same_map(const Eigen::Affine3d& a, const Eigen::Affine3d& b, double tolerance = 1e-12) {
  EXPECT_LT((a.matrix() - b.matrix()).cwiseAbs().maxCoeff(), tolerance) << a.matrix() << "\n\n"
                                                                        << b.matrix();
}

/// ITK's twelve parameters: the matrix row by row, then the translation for that centre.
std::vector<double> itk_parameters(const Eigen::Affine3d& affine) {
  std::vector<double> parameters;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column) parameters.push_back(affine(row, column));
  const Eigen::Vector3d translation = affine.translation() + affine.linear() * center - center;
  parameters.insert(parameters.end(), translation.data(), translation.data() + 3);
  return parameters;
}

template <class T>
std::string matlab_variable(const std::string& name, const std::vector<T>& values) {
  const std::vector<std::int32_t> head{sizeof(T) == 8 ? 0 : 10, std::int32_t(values.size()), 1, 0,
                                       std::int32_t(name.size() + 1)};
  return bytes_of_values(head) + name + '\0' + bytes_of_values(values);
}

std::string text_transform(const std::string& name, const std::string& parameters,
                           const std::string& fixed) {
  return "Transform: " + name + "\nParameters: " + parameters + "\nFixedParameters: " + fixed +
         "\n";
}

const std::string text_head = "#Insight Transform File V1.0\n#Transform 0\n";

TEST(TransformFile, MatBytesAreThoseOfItk) {
  const TemporaryFolder folder;
  write_affine(folder / "a.mat", sample_affine(), center);
  const std::string bytes = read_bytes(folder / "a.mat");
  const std::string name = "AffineTransform_double_3_3";
  ASSERT_EQ(bytes.size(), 20 + name.size() + 1 + 96 + 20 + 6 + 24);
  EXPECT_EQ(value_at<std::int32_t>(bytes, 0), 0) << "little-endian doubles";
  EXPECT_EQ(value_at<std::int32_t>(bytes, 4) * value_at<std::int32_t>(bytes, 8), 12);
  EXPECT_EQ(bytes.substr(20, name.size()), name);
  const std::vector<double> expected = itk_parameters(sample_affine());
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_NEAR(value_at<double>(bytes, 47 + 8 * i), expected[i], 1e-12) << i;
  EXPECT_EQ(bytes.substr(163, 5), "fixed");
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(value_at<double>(bytes, 169 + 8 * i), center[Eigen::Index(i)]);
}

TEST(TransformFile, RoundTrips) {
  const TemporaryFolder folder;
  for (const std::string name : {"a.mat", "a.tfm", "a.txt", "a.h5"}) {
    write_affine(folder / name, sample_affine(), center);
    expect_same_map(read_affine(folder / name), sample_affine());
  }
  EXPECT_NE(read_bytes(folder / "a.txt").find("Transform: AffineTransform_double_3_3"),
            std::string::npos);
}

TEST(TransformFile, ReadsMatOfFloatsAndOfAnts) {
  const TemporaryFolder folder;
  const std::vector<double> parameters = itk_parameters(sample_affine());
  const std::string fixed = matlab_variable<double>("fixed", {center[0], center[1], center[2]});
  write_bytes(folder / "ants.mat",
              matlab_variable("MatrixOffsetTransformBase_double_3_3", parameters) + fixed);
  expect_same_map(read_affine(folder / "ants.mat"), sample_affine());
  write_bytes(folder / "float.mat",
              matlab_variable("AffineTransform_float_3_3",
                              std::vector<float>(parameters.begin(), parameters.end())) +
                  matlab_variable<float>("fixed", {10, -20, 30}));
  expect_same_map(read_affine(folder / "float.mat"), sample_affine(), 1e-5);
}

TEST(TransformFile, ReadsEveryLinearClass) {
  const TemporaryFolder folder;
  const auto read_text = [&](const std::string& name, const std::string& parameters,
                             const std::string& fixed) {
    write_bytes(folder / "t.tfm", text_head + text_transform(name, parameters, fixed));
    return read_affine(folder / "t.tfm");
  };
  const Eigen::Translation3d about(center), back(-center), shift(1, 2, 3);
  const Eigen::Affine3d turned(shift * about * Eigen::AngleAxisd(0.2, Eigen::Vector3d::UnitZ()) *
                               back);
  const double versor = std::sin(0.1);
  const std::string versor_parameters = "0 0 " + std::to_string(versor) + " 1 2 3";
  expect_same_map(read_text("TranslationTransform_double_3_3", "1 2 3", ""),
                  Eigen::Affine3d(shift));
  expect_same_map(read_text("Euler3DTransform_double_3_3", "0 0 0.2 1 2 3", "10 -20 30"), turned);
  expect_same_map(read_text("VersorRigid3DTransform_double_3_3", versor_parameters, "10 -20 30"),
                  turned, 1e-4);
  expect_same_map(read_text("VersorRigid3DTransform_float_3_3", versor_parameters, "10 -20 30"),
                  turned, 1e-4);
  const std::string turn = "0 0 " + std::to_string(versor);
  expect_same_map(read_text("VersorTransform_double_3_3", turn, "10 -20 30"),
                  shift.inverse() * turned, 1e-4);
  expect_same_map(read_text("IdentityTransform_double_3_3", "", ""), Eigen::Affine3d::Identity());
  write_bytes(folder / "i.mat", matlab_variable<double>("IdentityTransform_double_3_3", {}) +
                                    matlab_variable<double>("fixed", {}));
  expect_same_map(read_affine(folder / "i.mat"), Eigen::Affine3d::Identity());
  write_bytes(folder / "t.mat",
              matlab_variable<double>("TranslationTransform_double_3_3", {1, 2, 3}) +
                  matlab_variable<double>("fixed", {}));
  expect_same_map(read_affine(folder / "t.mat"), Eigen::Affine3d(shift));
  const Eigen::Affine3d grown(shift * about * Eigen::AngleAxisd(0.2, Eigen::Vector3d::UnitZ()) *
                              Eigen::Scaling(1.5) * back);
  expect_same_map(
      read_text("Similarity3DTransform_double_3_3", versor_parameters + " 1.5", "10 -20 30"), grown,
      1e-4);
}

TEST(TransformFile, CompositeAppliesItsLastTransformFirst) {
  const TemporaryFolder folder;
  const std::string doubled =
      text_transform("AffineTransform_double_3_3", "2 0 0 0 2 0 0 0 2 0 0 0", "0 0 0");
  const std::string moved = text_transform("TranslationTransform_double_3_3", "1 2 3", "");
  write_bytes(folder / "c.tfm", text_head +
                                    "Transform: CompositeTransform_double_3_3\n#Transform 1\n" +
                                    doubled + "#Transform 2\n" + moved);
  EXPECT_EQ(read_affine(folder / "c.tfm") * Eigen::Vector3d(1, 1, 1), Eigen::Vector3d(4, 6, 8));
}

/// A field of 2x2x2 voxels of 1, 2 and 3 mm with its first voxel at (10, 20, 30); every vector is
/// (0.5, -1, 6) mm.
std::string text_field(const std::string& kind = "DisplacementFieldTransform") {
  std::string vectors;
  for (int voxel = 0; voxel < 8; ++voxel) vectors += "0.5 -1 6 ";
  return text_transform(kind + "_double_3_3", vectors, "2 2 2 10 20 30 1 2 3 1 0 0 0 1 0 0 0 1");
}

TEST(TransformFile, FieldsThatItkSmoothsAsTheyGrowAreFields) {
  const TemporaryFolder folder;
  write_bytes(folder / "plain.tfm", text_head + text_field());
  const HostTransform plain = read_transform_chain(folder / "plain.tfm", {});
  for (const std::string smoothing : {"GaussianSmoothingOnUpdate", "BSplineSmoothingOnUpdate"}) {
    write_bytes(folder / "u.tfm", text_head + text_field(smoothing + "DisplacementFieldTransform"));
    const HostTransform field = read_transform_chain(folder / "u.tfm", {});
    ASSERT_EQ(field.steps.size(), 1u);
    EXPECT_EQ(std::get<HostField>(field.steps[0]).planes,
              std::get<HostField>(plain.steps[0]).planes);
  }
  write_bytes(folder / "u.tfm", text_head + text_field("InverseDisplacementFieldTransform"));
  expect_io_error([&] { read_transform_chain(folder / "u.tfm", {}); },
                  {"u.tfm", "InverseDisplacementFieldTransform"});
}

TEST(TransformFile, ACompositeMayDisplaceFirst) {
  const TemporaryFolder folder;
  const std::string head = text_head + "Transform: CompositeTransform_double_3_3\n#Transform 1\n";
  const std::string doubled =
      text_transform("AffineTransform_double_3_3", "2 0 0 0 2 0 0 0 2 0 0 0", "0 0 0");
  write_bytes(folder / "c.tfm", head + doubled + "#Transform 2\n" + text_field());
  const FileTransform read = read_transform(folder / "c.tfm");
  expect_same_map(read.affine, Eigen::Affine3d(Eigen::Scaling(2.0)));
  ASSERT_TRUE(read.displacement);
  EXPECT_EQ(read.displacement->geometry.extent, (Extent{2, 2, 2}));
  EXPECT_EQ(read.displacement->geometry.spacing, Eigen::Vector3d(1, 2, 3));
  EXPECT_EQ(read.displacement->geometry.origin, Eigen::Vector3d(10, 20, 30));
  std::vector<float> voxels(8, 0.5f);
  voxels.insert(voxels.end(), 8, -0.5f);
  voxels.insert(voxels.end(), 8, 2.0f);
  EXPECT_EQ(read.displacement->planes, voxels);
  expect_io_error([&] { read_affine(folder / "c.tfm"); },
                  {"displacement field", "linear 3-D transform"});
  write_bytes(folder / "late.tfm", head + text_field() + "#Transform 2\n" + doubled);
  expect_io_error([&] { read_transform(folder / "late.tfm"); },
                  {"maps linearly before it displaces", "regtool compose -r FIXED -t FILE -o"});
  write_bytes(folder / "two.tfm", head + text_field() + "#Transform 2\n" + text_field());
  expect_io_error([&] { read_transform(folder / "two.tfm"); },
                  {"two displacement fields", "regtool compose -r FIXED -t FILE -o"});
  // What resampling reads may be in any order.
  const HostTransform late = read_transform_chain(folder / "late.tfm", {});
  ASSERT_EQ(late.steps.size(), 2u);
  expect_same_map(std::get<Eigen::Affine3d>(late.steps[0]), Eigen::Affine3d(Eigen::Scaling(2.0)));
  EXPECT_EQ(std::get<HostField>(late.steps[1]).planes, voxels);
  EXPECT_EQ(read_transform_chain(folder / "two.tfm", {}).steps.size(), 2u);
}

/// What would make ITK abort the program or free twice.
TEST(TransformFile, AFieldWithoutAGridIsRefused) {
  const TemporaryFolder folder;
  const std::string rest = " 10 20 30 1 2 3 1 0 0 0 1 0 0 0 1", six = "1 2 3 4 5 6 ";
  const auto refused = [&](const std::string& vectors, const std::string& grid,
                           const std::string& words) {
    write_bytes(folder / "f.tfm",
                text_head + text_transform("DisplacementFieldTransform_double_3_3", vectors, grid));
    expect_io_error([&] { read_transform(folder / "f.tfm"); }, {words});
  };
  refused("", "0 0 0" + rest, "a side of too few points");
  refused(six, "2 0 1" + rest, "a side of too few points");
  refused(six, "1.5 2 1" + rest, "a side of too few points");
  refused(six, "2 2 2" + rest, "three numbers a voxel");
  refused(six, "2 1 1 10 20 30", "6 fixed parameters instead of 18");
  refused(six, "2 1 1 10 20 30 1 nan 3 1 0 0 0 1 0 0 0 1", "not finite");
  refused(six, "2 1 1 10 inf 30 1 2 3 1 0 0 0 1 0 0 0 1", "not finite");
  refused(six, "2 1 1 10 20 30 1 -2 3 1 0 0 0 1 0 0 0 1", "not positive");
  refused(six, "2 1 1 10 20 30 1 2 3 1 0 0 1 0 0 0 0 1", "span no volume");
  write_bytes(folder / "empty.tfm", text_head + "Transform: CompositeTransform_double_3_3\n");
  expect_io_error([&] { read_transform(folder / "empty.tfm"); }, {"a composite of no transform"});
}

TEST(TransformFile, ADisplacementFileIsATransform) {
  const TemporaryFolder folder;
  const Geometry grid = oblique_grid({5, 4, 3});
  const std::vector<float> planes = random_values(3 * grid.extent.count(), -4, 4);
  write_displacement(folder / "u.nii.gz", grid, planes);
  const FileTransform read = read_transform(folder / "u.nii.gz");
  expect_same_map(read.affine, Eigen::Affine3d::Identity());
  ASSERT_TRUE(read.displacement);
  EXPECT_EQ(read.displacement->planes, read_displacement(folder / "u.nii.gz").planes);
  write_affine(folder / "a.h5", sample_affine(), center);
  EXPECT_FALSE(read_transform(folder / "a.h5").displacement);
  write_bytes(folder / "x.xfm", "x");
  expect_io_error([&] { read_transform(folder / "x.xfm"); }, {".h5", "displacement field"});
}

TEST(TransformFile, Refusals) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const std::string& content,
                           const std::vector<std::string>& parts) {
    if (!content.empty()) write_bytes(folder / name, content);
    expect_io_error([&] { read_affine(folder / name); }, parts);
  };
  refused("missing.mat", "", {"no such file"});
  refused("t.xfm", "x", {".mat, .tfm, .txt or .h5"});
  refused("t.h5", "x", {"not an HDF5 file"});
  refused("damaged.h5", "\x89HDF\r\n\x1a\n and so on", {"it is damaged"});
  refused("fsl.mat", "1 0 0 5\n0 1 0 6\n0 0 1 7\n0 0 0 1\n", {"not a MATLAB v4 transform", "FSL"});
  const std::string good =
      matlab_variable("AffineTransform_double_3_3", itk_parameters(sample_affine())) +
      matlab_variable<double>("fixed", {0, 0, 0});
  refused("cut.mat", good.substr(0, 100), {"ends within its numbers"});
  refused("head.mat", good.substr(0, 10), {"not a MATLAB v4 transform"});
  refused("text.txt", "hello", {"not an ITK transform file"});
  refused("none.txt", text_head, {"none.txt"});
  refused("unknown.txt", text_head + text_transform("NoSuchTransform_double_3_3", "1 2", ""),
          {"unknown.txt"});
  refused("short.txt", text_head + text_transform("AffineTransform_double_3_3", "1 2 3", "0 0 0"),
          {"short.txt"});
  refused("flat.txt", text_head + text_transform("Euler2DTransform_double_2_2", "0.1 2 3", "0 0"),
          {"linear 3-D transform"});
  refused("spline.txt",
          text_head + text_transform("ThinPlateSplineKernelTransform_double_3_3", "0 0 0", "1 2 3"),
          {"spline.txt"});
  refused(
      "singular.txt",
      text_head + text_transform("AffineTransform_double_3_3", "0 0 0 0 0 0 0 0 0 1 2 3", "0 0 0"),
      {"singular"});
  const std::string one = text_transform("TranslationTransform_double_3_3", "1 2 3", "");
  refused("two.txt", text_head + one + "#Transform 1\n" + one,
          {"2 transforms that are not one composite"});
  expect_io_error([&] { write_affine(folder / "a.xfm", sample_affine(), center); },
                  {"cannot write", ".mat"});
  expect_io_error([&] { write_affine(folder / "missing/a.mat", sample_affine(), center); },
                  {"cannot write", "missing/a.mat"});
  expect_io_error([&] { write_affine(folder / "missing/a.txt", sample_affine(), center); },
                  {"cannot write", "missing/a.txt"});
}

}  // namespace
}  // namespace freeflow::test
