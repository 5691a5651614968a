// What no reader at hand can judge (FSL's: fsl_test.cpp), against the written definition: files are
// made here byte by byte, and points mapped by hand.
#include <zlib.h>

#include <freeflow/io/transform_file.h>

#include "transform_test_support.h"

namespace freeflow::test {
namespace {

// --- NiftyReg -----------------------------------------------------------------------------------

TEST(NiftyReg, ReadsEveryKindOfField) {
  const TemporaryFolder folder;
  const Geometry grid = grid_of_rows(2);
  const std::string path = folder / "nrr.nii";
  const Eigen::Vector3d ras_shift(1, 2, -1), p = grid.index_to_world() * Eigen::Vector3d(2, 3, 1);
  for (const int kind : {0, 1}) {
    write_bytes(path, vector_file({small, 5, 1007, "NREG_TRANS", {float(kind)}, 2}) +
                          bytes_of_values(planes_of(small, [&](int x, int y, int z) {
                            const Eigen::Vector3d ras(10 + 2 * x, -20 + 3 * y, 30 + 4 * z);
                            return Eigen::Vector3d(kind == 0 ? ras + ras_shift : ras_shift);
                          })));
    EXPECT_EQ(detect(path), TransformFormat::niftyreg);
    expect_maps(read_transform_file(path), p, p + Eigen::Vector3d(-1, -2, -1));
  }
  for (const int kind : {3, 4, 5}) {
    write_bytes(path, vector_file({small, 5, 1007, "NREG_TRANS", {float(kind)}, 2}) +
                          std::string(12 * small.count(), '\0'));
    expect_io_error([&] { read_transform_file(path); }, {"nrr.nii", "velocity", "reg_transform"});
  }
  write_bytes(folder / "a.txt", "1 0 0 7\n0 1 0 8\n0 0 1 9\n0 0 0 1\n");  // RAS
  expect_maps(read_transform_file(folder / "a.txt", TransformFormat::niftyreg), p,
              p + Eigen::Vector3d(-7, -8, 9));
}

/// Without a form NiftyReg, SPM, MRtrix and ITK each put such a grid somewhere else.
TEST(NiftyReg, PlacesOnAGridWithoutFormsAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "nrr.nii";
  for (const std::string name : {"NREG_TRANS", "Mapping", ""}) {
    std::string bytes = vector_file({small, 5, 1007, name, {}, 2});
    put_at<std::int16_t>(bytes, 254, 0);
    write_bytes(path, bytes + bytes_of_values(planes_of(small, [](int x, int y, int z) {
                        return Eigen::Vector3d(2 * x, 3 * y, 4 * z);
                      })));
    const auto format = name.empty()        ? TransformFormat::mrtrix
                        : name == "Mapping" ? TransformFormat::spm
                                            : TransformFormat::niftyreg;
    expect_io_error([&] { read_transform_file(path, format); }, {path, "neither sform nor qform"});
  }
}

TEST(NiftyReg, ControlPointsHoldPositions) {
  const TemporaryFolder folder;
  // Control points 2, 3, 4 mm apart; the image lies within, 1 mm voxels, and is oblique to nothing.
  const Extent lattice{8, 8, 8};
  const Geometry control = grid_of_rows(2, lattice);
  const Geometry fixed{{5, 5, 5}, {1, 1, 1}, {-14.5, 15.25, 36.5}, grid_of_rows(2).direction};
  const std::string path = folder / "cpp.nii";
  const auto bent = [](double x, double y, double z) {  // RAS of a control point
    const Eigen::Vector3d ras(10 + 2 * x, -20 + 3 * y, 30 + 4 * z);
    return Eigen::Vector3d(ras + Eigen::Vector3d(0.2 * y * y, std::sin(x + z), 0.1 * x * y));
  };
  for (const int kind : {2, 6}) {
    write_bytes(path, vector_file({lattice, 5, 1007, "NREG_TRANS", {float(kind)}, 2}) +
                          bytes_of_values(planes_of(lattice, bent)));
    const HostTransform transform = read_transform_file(path, {}, {fixed, {}, {}});
    for (const Eigen::Vector3d& voxel :
         {Eigen::Vector3d(0, 0, 0), Eigen::Vector3d(4, 3, 1), Eigen::Vector3d(2, 2, 2)}) {
      const Eigen::Vector3d p = fixed.index_to_world() * voxel;
      const Eigen::Vector3d at = control.world_to_index() * p;
      Eigen::Vector3d ras = Eigen::Vector3d::Zero();
      for (int k = 0; k < 8; ++k)
        for (int j = 0; j < 8; ++j)
          for (int i = 0; i < 8; ++i) {
            double weight = 1;
            for (const double x : {at.x() - i, at.y() - j, at.z() - k}) {
              const double a = std::abs(x);
              if (kind == 6)
                weight *= a < 1 ? 1 - a : 0;
              else
                weight *= a < 1   ? (4 - 6 * a * a + 3 * a * a * a) / 6
                          : a < 2 ? std::pow(2 - a, 3) / 6
                                  : 0;
            }
            ras += weight * bent(i, j, k);
          }
      expect_maps(transform, p, {-ras.x(), -ras.y(), ras.z()});
    }
  }
  Geometry outside = fixed;
  outside.origin.x() += 40;
  expect_io_error(
      [&] {
        read_transform_file(path, {}, {outside, {}, {}});
      },
      {"cpp.nii", "do not cover", "TransformContext::fixed"});
  EXPECT_THROW(read_transform_file(path), InvalidArgument);
}

// --- SPM, and what looks like it
// ------------------------------------------------------------------

TEST(Spm, PositionsAreNeverTakenForDisplacements) {
  const TemporaryFolder folder;
  const Geometry grid = grid_of_rows(-2);
  const std::string path = folder / "y_t1.nii";
  const auto planes = planes_of(small, [](int x, int y, int z) {
    return Eigen::Vector3d(10 - 2 * x + 1, -20 + 3 * y + 2, 30 + 4 * z - 1);
  });
  const Eigen::Vector3d p = grid.index_to_world() * Eigen::Vector3d(2, 3, 1);
  write_bytes(path, vector_file({small, 5, 1007, "Mapping", {}, -2}) + bytes_of_values(planes));
  EXPECT_EQ(detect(path), TransformFormat::spm);
  expect_maps(read_transform_file(path), p, p + Eigen::Vector3d(-1, -2, -1));
  expect_io_error([&] { read_transform_file(path, TransformFormat::itk); },
                  {"y_t1.nii", "Mapping", "TransformFormat::spm"});
  // Without the name the values tell.
  write_bytes(path, vector_file({small, 5, 1007, "", {}, -2}) + bytes_of_values(planes));
  expect_io_error([&] { read_transform_file(path); },
                  {"y_t1.nii", "positions", "TransformFormat::spm"});
  const HostTransform told = read_transform_file(path, TransformFormat::spm);
  expect_maps(told, p, p + Eigen::Vector3d(-1, -2, -1));
  EXPECT_EQ(told.warnings.size(), 1u);
  const auto small_ones =
      planes_of(small, [](int x, int, int z) { return Eigen::Vector3d(0.1 * x, 0.2, 0.1 * z); });
  write_bytes(path, vector_file({small, 5, 1007, "", {}, -2}) + bytes_of_values(small_ones));
  expect_io_error([&] { read_transform_file(path, TransformFormat::spm); },
                  {"y_t1.nii", "displacements", "TransformFormat::itk"});
  expect_io_error([&] { read_transform_file(path, TransformFormat::mrtrix); },
                  {"y_t1.nii", "displacements", "warpconvert"});
  expect_maps(read_transform_file(path), p, p + Eigen::Vector3d(0.2, 0.2, 0.1));
}

TEST(Spm, VoxelsWithoutAPositionStayAndAreCounted) {
  const TemporaryFolder folder;
  const std::string path = folder / "iy_t1.nii";
  auto planes = planes_of(small, [](int x, int y, int z) {
    return Eigen::Vector3d(10 - 2 * x + 1, -20 + 3 * y, 30 + 4 * z);
  });
  planes[0] = std::nanf("");
  write_bytes(path, vector_file({small, 5, 1007, "Mapping", {}, -2}) + bytes_of_values(planes));
  const HostTransform transform = read_transform_file(path);
  const Geometry grid = grid_of_rows(-2);
  expect_maps(transform, grid.origin, grid.origin);
  ASSERT_EQ(transform.warnings.size(), 1u);
  EXPECT_NE(transform.warnings[0].find(" 1 of its voxels"), std::string::npos);
}

// --- AFNI ---------------------------------------------------------------------------------------

TEST(Afni, RowsAreDicomMillimetresAndObliqueImagesAreTurned) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.aff12.1D";
  write_bytes(path, "# 3dvolreg matrices (DICOM-to-DICOM, row-by-row):\n1 0 0 4 0 1 0 5 0 0 1 6\n");
  const Geometry plain = grid_of_rows(2);
  expect_maps(read_transform_file(path, {}, {plain, plain, {}}), {1, 2, 3}, {5, 7, 9});
  EXPECT_EQ(read_transform_file(path).warnings.size(), 1u);  // nothing known of obliquity
  // Voxel (i, j, k) of an oblique image is, to AFNI, at origin + spacing along the nearest axes.
  Geometry oblique = plain;
  oblique.direction = turned({1, 2, 3}, 20) * plain.direction;
  const Eigen::Vector3d index(3, 2, 1);
  const Eigen::Vector3d cardinal =
      oblique.origin + plain.direction * index.cwiseProduct(oblique.spacing);
  expect_maps(read_transform_file(path, {}, {oblique, plain, {}}), oblique.index_to_world() * index,
              cardinal + Eigen::Vector3d(4, 5, 6));
  expect_maps(read_transform_file(path, {}, {plain, oblique, {}}),
              cardinal - Eigen::Vector3d(4, 5, 6), oblique.index_to_world() * index);
  write_bytes(path, "1 0 0 4 0 1 0 5 0 0 1 6\n1 0 0 4 0 1 0 5 0 0 1 6\n");
  expect_io_error([&] { read_transform_file(path); }, {"a.aff12.1D", "2 rows"});
}

TEST(Afni, NoTwoAxesOfAStronglyObliqueImageAreTurnedToOne) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.aff12.1D";
  const auto about = [](double degrees, int axis) {
    return turned(Eigen::Vector3d::Unit(axis), degrees);
  };
  const Geometry plain = grid_of_rows(2);
  Geometry strongly = plain;
  const Eigen::Matrix3d turn = about(40, 2) * about(-20, 1) * about(25, 0);
  strongly.direction = turn * plain.direction;
  const TransformContext context{strongly, strongly, {}};
  write_transform_file(path, TransformFormat::afni, chain_of({some_affine()}), context);
  const HostTransform back = read_transform_file(path, {}, context);
  EXPECT_LT(largest_difference(back, chain_of({some_affine()}), strongly), 1e-9);
  // By the definition: voxel (3, 2, 1) is, to AFNI, along the axes that the turn began from.
  write_bytes(path, "1 0 0 4 0 1 0 5 0 0 1 6\n");
  const Eigen::Vector3d index(3, 2, 1);
  expect_maps(read_transform_file(path, {}, {strongly, plain, {}}),
              strongly.index_to_world() * index,
              strongly.origin + plain.direction * index.cwiseProduct(plain.spacing) +
                  Eigen::Vector3d(4, 5, 6));
}

TEST(Afni, NumbersThatAreNotFiniteAreNotWritten) {
  const TemporaryFolder folder;
  Eigen::Affine3d endless = some_affine();
  endless.translation().y() = INFINITY;
  const TransformContext context{grid_of_rows(2), grid_of_rows(2), {}};
  for (const std::string name : {"a.aff12.1D", "warp.nii"})
    expect_io_error(
        [&] {
          write_transform_file(folder / name, TransformFormat::afni, chain_of({endless}), context);
        },
        {name, "not finite"});
}

TEST(Afni, WarpsAreDicomDisplacements) {
  const TemporaryFolder folder;
  const std::string path = folder / "anat_WARP.nii";
  std::string bytes = vector_file({small, 4, 0, "", {}, 2});
  bytes[348] = 1;  // an extension of AFNI's follows: 16 bytes, code 4
  bytes += std::string("\x10\0\0\0\4\0\0\0<AFNI/>\0", 16);
  put_at<float>(bytes, 108, float(bytes.size()));
  write_bytes(path, bytes + bytes_of_values(planes_of(
                                small, [](int, int, int) { return Eigen::Vector3d(1, 2, 3); })));
  EXPECT_EQ(detect(path), TransformFormat::afni);
  const Eigen::Vector3d p = grid_of_rows(2).index_to_world() * Eigen::Vector3d(2, 2, 2);
  expect_maps(read_transform_file(path), p, p + Eigen::Vector3d(1, 2, 3));
}

// --- FreeSurfer ---------------------------------------------------------------------------------

void append(std::string& bytes, std::uint32_t word) {
  for (const int shift : {24, 16, 8, 0}) bytes += char(word >> shift & 255);
}
void append(std::string& bytes, int value) { append(bytes, std::uint32_t(value)); }
void append(std::string& bytes, float value) {
  std::uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  append(bytes, word);
}

void append_geometry(std::string& bytes, std::array<int, 3> size, float spacing,
                     const std::array<float, 12>& axes_and_center) {
  append(bytes, 1);
  for (const int side : size) append(bytes, side);
  for (int axis = 0; axis < 3; ++axis) append(bytes, spacing);
  for (const float value : axes_and_center) append(bytes, value);
  bytes += std::string(512, '\0');
}

TEST(FreeSurfer, MorphsLeadFromTheAtlasToTheImage) {
  const TemporaryFolder folder;
  const std::string path = folder / "talairach.m3z";
  const std::array<float, 12> coronal{-1, 0, 0, 0, 0, -1, 0, 1, 0, 5, 6, 7};  // LIA
  const Extent nodes{4, 3, 5};
  std::string bytes;
  append(bytes, 1.f);
  for (const int value : {nodes.x, nodes.y, nodes.z, 2}) append(bytes, value);
  append(bytes, 20.f);
  for (int x = 0; x < nodes.x; ++x)  // z fastest
    for (int y = 0; y < nodes.y; ++y)
      for (int z = 0; z < nodes.z; ++z) {
        const bool invalid = x == 3 && y == 2 && z == 4;
        for (int i = 0; i < 2; ++i)  // original and present place, in voxels of the image
          for (const float place : {4.f + x, 5.f + 2 * y, 6.f - z})
            append(bytes, invalid ? 0 : place);
        for (int i = 0; i < 3; ++i) append(bytes, 0);
      }
  append(bytes, 12);
  for (std::size_t i = 0; i < nodes.count(); ++i) append(bytes, 0);  // labels
  append(bytes, 10);
  append_geometry(bytes, {16, 14, 12}, 1.5f, coronal);                            // image
  append_geometry(bytes, {8, 6, 10}, 1.f, {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3});  // atlas, RAS
  append(bytes, 11);
  append(bytes, 2);
  {
    gzFile out = gzopen(path.c_str(), "wb");
    gzwrite(out, bytes.data(), unsigned(bytes.size()));
    gzclose(out);
  }
  EXPECT_EQ(detect(path), TransformFormat::freesurfer);
  const HostTransform transform = read_transform_file(path);
  EXPECT_EQ(transform.warnings.size(), 1u);  // the invalid node
  // Node (1, 2, 3) stands at atlas voxel (2, 4, 6), whose centre of voxels is (4, 3, 5).
  const Eigen::Vector3d atlas_ras(1 + (2 - 4), 2 + (4 - 3), 3 + (6 - 5));
  const Eigen::Vector3d voxel(4 + 1, 5 + 4, 6 - 3),
      from_center = 1.5 * (voxel - Eigen::Vector3d(8, 7, 6));
  const Eigen::Vector3d image_ras(5 - from_center.x(), 6 + from_center.z(), 7 - from_center.y());
  expect_maps(transform, {-atlas_ras.x(), -atlas_ras.y(), atlas_ras.z()},
              {-image_ras.x(), -image_ras.y(), image_ras.z()});
  write_bytes(path, bytes.substr(0, bytes.size() / 3));
  expect_io_error([&] { read_transform_file(path); }, {"talairach.m3z", "ends early"});
}

TEST(FreeSurfer, LtaRunsFromSourceToDestination) {
  const TemporaryFolder folder;
  const TransformContext context{grid_of_rows(2), grid_of_rows(-2), {}};
  write_transform_file(folder / "a.lta", TransformFormat::freesurfer, chain_of({some_affine()}),
                       context);
  const TransformContext swapped{context.moving, context.fixed, {}};
  const HostTransform back = read_transform_file(folder / "a.lta", {}, swapped);
  EXPECT_EQ(back.warnings.size(), 1u);
  EXPECT_TRUE(std::get<Eigen::Affine3d>(back.steps[0]).isApprox(some_affine().inverse(), 1e-9));
  const HostTransform alone = read_transform_file(folder / "a.lta");
  ASSERT_EQ(alone.warnings.size(), 1u);
  EXPECT_NE(alone.warnings[0].find("name the fixed image"), std::string::npos);
  EXPECT_TRUE(std::get<Eigen::Affine3d>(alone.steps[0]).isApprox(some_affine(), 1e-9));
  EXPECT_TRUE(read_transform_file(folder / "a.lta", {}, context).warnings.empty());
  // Between images of one grid, which says nothing, and of one that reaches farther.
  const TransformContext alike{grid_of_rows(2), grid_of_rows(2), {}},
      longer{grid_of_rows(2), grid_of_rows(2, {7, 5, 4}), {}};
  for (const bool is_longer : {false, true}) {
    const TransformContext& both = is_longer ? longer : alike;
    write_transform_file(folder / "b.lta", TransformFormat::freesurfer, chain_of({some_affine()}),
                         both);
    const HostTransform read = read_transform_file(folder / "b.lta", {}, both);
    EXPECT_TRUE(read.warnings.empty());
    EXPECT_TRUE(std::get<Eigen::Affine3d>(read.steps[0]).isApprox(some_affine(), 1e-9));
    EXPECT_EQ(read_transform_file(folder / "b.lta").warnings.size(), is_longer ? 1u : 0u);
  }
}

// --- Whose file is it? --------------------------------------------------------------------------

TEST(Detect, SaysNothingWhereNothingDecides) {
  const TemporaryFolder folder;
  const std::string matrix = "1 0 0 7\n0 1 0 8\n0 0 1 9\n0 0 0 1\n";
  write_bytes(folder / "a.txt", matrix);
  EXPECT_EQ(detect(folder / "a.txt"), std::nullopt);
  expect_io_error([&] { read_transform_file(folder / "a.txt"); }, {"a.txt", "TransformFormat"});
  write_bytes(folder / "TransformParameters.0.txt",
              "(Transform \"EulerTransform\")\n(NumberOfParameters 6)\n");
  EXPECT_EQ(detect(folder / "TransformParameters.0.txt"), TransformFormat::elastix);
  write_bytes(folder / "m.txt", "# command_history: transformcalc\n" + matrix);
  EXPECT_EQ(detect(folder / "m.txt"), TransformFormat::mrtrix);
  write_bytes(folder / "j.txt", "# command_history: mrregister /home/jürgen/a.nii\n" + matrix);
  EXPECT_EQ(detect(folder / "j.txt"), TransformFormat::mrtrix) << "folders of any language";
  write_bytes(folder / "a.mat", matrix);
  EXPECT_EQ(detect(folder / "a.mat"), TransformFormat::fsl);
  write_affine(folder / "b.mat", some_affine(), {0, 0, 0});
  EXPECT_EQ(detect(folder / "b.mat"), TransformFormat::itk);
  write_affine(folder / "b.txt", some_affine(), {0, 0, 0});
  EXPECT_EQ(detect(folder / "b.txt"), TransformFormat::itk);
  write_bytes(folder / "w.nii",
              vector_file({small, 4, 0, "", {}, 2}) + std::string(12 * small.count(), '\0'));
  EXPECT_EQ(detect(folder / "w.nii"), std::nullopt);
  expect_io_error([&] { read_transform_file(folder / "w.nii"); }, {"w.nii", "TransformFormat"});
  expect_io_error([&] { detect(folder / "none.txt"); }, {"none.txt", "no such file"});
  for (const TransformFormatInfo& info : transform_formats())
    EXPECT_EQ(parse_transform_format(info.word), info.format);
  EXPECT_EQ(parse_transform_format("slicer"), std::nullopt);
}

TEST(Matrices, ThatAreNoneAreRefused) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, const std::string& reason) {
    write_bytes(folder / "a.txt", text);
    expect_io_error([&] { read_transform_file(folder / "a.txt", TransformFormat::mrtrix); },
                    {"a.txt", reason});
  };
  refused("1 0 0 7\n0 1 0 8\n0 0 1\n0 0 0 1\n", "four rows of four");
  refused("1 0 0 7\n0 1 0 8\n1 1 0 9\n0 0 0 1\n", "singular");
  refused("1 0 0 7\n0 1 0 8\n0 0 1 9\n0 0 1 1\n", "last row");
  refused("1 0 0 7\n0 1 0 8\n0 0 nan 9\n0 0 0 1\n", "finite number");
  refused("{\"affine\": 1}\n", "finite number");
}

}  // namespace
}  // namespace freeflow::test
