// regtool points as a user runs it: meshes, voxels, and where transforms end.
#include <cmath>
#include <cstdio>
#include <map>

#include <nlohmann/json.hpp>

#include <freeflow/io/field_file.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/mesh_file.h>
#include <freeflow/io/transform_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow {
namespace regtool_points_test {

using namespace test;

const std::string regtool = program_path("regtool");

/// A box of six quadrilaterals, whose vertices stand in no order that a reader would make.
constexpr const char* box_ply =
    "ply\nformat ascii 1.0\nelement vertex 9\nproperty float x\nproperty float y\n"
    "property float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n"
    "element face 6\nproperty list uchar int vertex_indices\nend_header\n"
    "5 4 3 255 0 0\n-5 -4 -3 0 255 0\n5 -4 -3 0 0 255\n-5 4 -3 1 2 3\n5 4 -3 4 5 6\n-5 -4 3 7 8 9\n"
    "5 -4 3 1 1 1\n-5 4 3 2 2 2\n60 70 80 3 3 3\n"
    "4 1 3 4 2\n4 5 6 0 7\n4 1 2 6 5\n4 3 7 0 4\n4 1 5 7 3\n4 2 4 0 6\n";

class RegtoolPoints : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    text("box.ply", box_ply);
    Eigen::Affine3d a = Eigen::Affine3d::Identity();
    a.linear() = Eigen::AngleAxisd(0.3, Eigen::Vector3d::UnitZ()).toRotationMatrix();
    a.translation() = Eigen::Vector3d(1, -2, 3);
    write_affine(path("turn.mat"), a, Eigen::Vector3d::Zero());
    a.linear() = a.linear() * Eigen::DiagonalMatrix<double, 3>(-1, 1, 1);
    write_affine(path("mirror.mat"), a, Eigen::Vector3d::Zero());
    const Geometry grid = field_grid();
    write_displacement(
        path("field.nii.gz"), grid,
        field_planes(grid.extent, [](int x, int y, int z) { return wave(x, y, z, 1); }), 1);
  }

  /// 48 mm around the origin.
  static Geometry field_grid() {
    Geometry g = plain_geometry({24, 24, 24});
    g.spacing = {2, 2, 2};
    g.origin = {-23, -23, -23};
    return g;
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  void text(const std::string& name, const std::string& contents) const {
    std::ofstream(folder / name) << contents;
  }
  Outcome points(const std::string& arguments) const {
    return run(regtool + " points " + arguments);
  }
  static std::string from_to(const std::string& input, const std::string& output) {
    std::string call = "-i ";
    return call.append(input).append(" -o ").append(output);
  }
  std::vector<Eigen::Vector3d> table(const std::string& name) const {
    std::istringstream lines(slurp(folder / name));
    std::vector<Eigen::Vector3d> all;
    Eigen::Vector3d p;
    for (std::string line; std::getline(lines, line);)
      if (std::sscanf(line.c_str(), "%lf,%lf,%lf", &p.x(), &p.y(), &p.z()) == 3) all.push_back(p);
    return all;
  }
};

double enclosed_volume(const TriangleMesh& mesh) {
  double six = 0;
  for (const auto& [a, b, c] : mesh.triangles)
    six += mesh.points[std::size_t(a)].dot(
        mesh.points[std::size_t(b)].cross(mesh.points[std::size_t(c)]));
  return six / 6;
}

TEST_F(RegtoolPoints, AMeshKeepsItsVerticesOrderAndFaces) {
  if (!has_meshes()) GTEST_SKIP() << how_to_get_meshes;
  const std::string chain = " -t field.nii.gz -t turn.mat";
  ASSERT_EQ(points("-i box.ply -o there.ply --direction fixed-to-moving" + chain).status, 0);
  ASSERT_EQ(points("-i there.ply -o back.ply --direction moving-to-fixed" + chain).status, 0);
  text("box.csv", "5,4,3\n-5,-4,-3\n5,-4,-3\n-5,4,-3\n5,4,-3\n-5,-4,3\n5,-4,3\n-5,4,3\n60,70,80\n");
  ASSERT_EQ(points("-i box.csv -o there.csv --direction fixed-to-moving" + chain).status, 0);

  const std::vector<Eigen::Vector3d> before = MovableMesh(path("box.ply")).vertices();
  const std::vector<Eigen::Vector3d> there = MovableMesh(path("there.ply")).vertices();
  const std::vector<Eigen::Vector3d> back = MovableMesh(path("back.ply")).vertices();
  const std::vector<Eigen::Vector3d> expected = table("there.csv");
  ASSERT_EQ(there.size(), 9u) << "a vertex of no face stays, too";
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_LT((there[i] - expected[i]).norm(), 1e-4) << i;
    EXPECT_LT((back[i] - before[i]).norm(), 1e-4) << i;
  }
  const Eigen::Affine3d turn = read_affine(path("turn.mat"));
  EXPECT_LT((there[8] - turn * before[8]).norm(), 1e-4) << "beyond the field only affines hold";
  const std::string bytes = slurp(folder / "there.ply");
  EXPECT_NE(bytes.find("element face 6\n"), std::string::npos) << "faces of four corners stay";
  EXPECT_NE(bytes.find("property uchar red"), std::string::npos) << "and so do colours";
  EXPECT_GT(enclosed_volume(read_mesh(path("there.ply"))), 0);
}

TEST_F(RegtoolPoints, FacesTurnWhereTheChainMirrors) {
  if (!has_meshes()) GTEST_SKIP() << how_to_get_meshes;
  EXPECT_NEAR(enclosed_volume(read_mesh(path("box.ply"))), 480, 1e-3);
  for (const std::string to : {"ply", "stl", "obj", "vtk"})
    for (const std::string by : {"turn", "mirror"})
      for (const std::string direction : {"fixed-to-moving", "moving-to-fixed"}) {
        std::string name = by;
        name.append(".").append(to);
        std::string call = from_to("box.ply", name);
        call.append(" --direction ").append(direction).append(" -t ").append(by).append(".mat");
        ASSERT_EQ(points(call).status, 0);
        EXPECT_NEAR(enclosed_volume(read_mesh(path(name))), 480, 1e-2) << name << direction;
      }
  const std::string twice = " -t mirror.mat -t mirror.mat";
  ASSERT_EQ(points("-i box.ply -o twice.ply --direction fixed-to-moving" + twice).status, 0);
  EXPECT_NEAR(enclosed_volume(read_mesh(path("twice.ply"))), 480, 1e-2);
}

TEST_F(RegtoolPoints, EveryMeshFormatIsReadBack) {
  if (!has_meshes()) GTEST_SKIP() << how_to_get_meshes;
  std::string from = "box.ply";
  for (const std::string to : {"a.stl", "b.obj", "c.vtk", "d.ply"}) {
    const Outcome o = points(from_to(from, to) + " --direction fixed-to-moving -t turn.mat");
    ASSERT_EQ(o.status, 0) << o.err;
    from = to;
  }
  EXPECT_NEAR(enclosed_volume(read_mesh(path("d.ply"))), 480, 1e-2);
}

TEST_F(RegtoolPoints, AMeshIsOfTheSpaceThatItNames) {
  if (!has_meshes()) GTEST_SKIP() << how_to_get_meshes;
  text("box.csv", "5,4,3\n-5,-4,-3\n5,-4,-3\n-5,4,-3\n5,4,-3\n-5,-4,3\n5,-4,3\n-5,4,3\n");
  const std::string by = " --direction fixed-to-moving -t turn.mat";
  ASSERT_EQ(points("-i box.csv -o there.csv --frame ras" + by).status, 0);
  const std::vector<Eigen::Vector3d> expected = table("there.csv");
  std::string named = box_ply;  // as 3D Slicer writes it
  named.insert(named.find("element"), "comment 3D Slicer output. SPACE=RAS\n");
  text("ras.ply", named);
  for (const std::string to : {"r.ply", "r.vtk", "r.obj", "r.stl"}) {
    ASSERT_EQ(points(from_to("ras.ply", to) + by).status, 0);
    EXPECT_NE(slurp(folder / to).substr(0, 300).find("SPACE=RAS"), std::string::npos) << to;
    const MovableMesh mesh(path(to));
    EXPECT_EQ(mesh.space(), "ras") << to;
    const std::size_t own = to == "r.stl" ? 0 : expected.size();  // .stl has none of its own
    for (std::size_t i = 0; i < own; ++i)
      EXPECT_LT((mesh.vertices()[i] - expected[i]).norm(), 1e-4) << to << i;
    EXPECT_NEAR(enclosed_volume(read_mesh(path(to))), 480, 1e-2) << to;
  }
  Eigen::Vector3d sum = Eigen::Vector3d::Zero(), of_file = sum;
  for (const Eigen::Vector3d& p : read_mesh(path("r.ply")).points) sum += p;
  for (const Eigen::Vector3d& p : expected) of_file += p;
  EXPECT_LT((sum - Eigen::Vector3d(-of_file.x(), -of_file.y(), of_file.z())).norm(), 1e-4)
      << "what is computed with is LPS";
  EXPECT_GT(of_file.head<2>().norm(), 1);

  named.replace(named.find("=RAS"), 4, "=LPS");
  text("lps.ply", named);
  const Outcome o = points("-i lps.ply -o no.ply --frame ras" + by);
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.err.find("says SPACE=LPS, but --frame is ras"), std::string::npos) << o.err;
}

TEST_F(RegtoolPoints, ATexturedObjKeepsItsVertices) {
  if (!has_meshes()) GTEST_SKIP() << how_to_get_meshes;
  text("t.obj",
       "# a tetrahedron\nv 0 0 1\nv 1 0 0\r\nv 0 1 0\nv 0 0 0\nvt 0 0\nvt 1 0\nvt 0 1\n"
       "f 4/1 3/2 2/3\nf 4/2 2/1 1/3\nf -1/1 -4/2 -2/3\nf 1//1 \\\n2 3\n");
  ASSERT_EQ(points("-i t.obj -o u.obj --direction fixed-to-moving -t turn.mat").status, 0);
  const std::vector<Eigen::Vector3d> u = MovableMesh(path("u.obj")).vertices();
  ASSERT_EQ(u.size(), 4u);
  const Eigen::Affine3d turn = read_affine(path("turn.mat"));
  EXPECT_LT((u[0] - turn * Eigen::Vector3d(0, 0, 1)).norm(), 1e-5);
  EXPECT_LT((u[2] - turn * Eigen::Vector3d(0, 1, 0)).norm(), 1e-5);
  EXPECT_NEAR(enclosed_volume(read_mesh(path("u.obj"))), 1.0 / 6, 1e-5);
  const std::string mesh = " -o out.obj --direction fixed-to-moving -t turn.mat";
  text("far.obj", "v 0 0 1\nv 1 0 0\nv 0 1 0\nf 1 2 4\n");
  expect_refusal(points("-i far.obj" + mesh), "not among its 3");
  text("word.obj", "v 0 0 1\nv 1 0 zero\n");
  expect_refusal(points("-i word.obj" + mesh), "line 2");
}

TEST_F(RegtoolPoints, TablesByTheNamesOfTheirColumns) {
  const Eigen::Affine3d shift(Eigen::Translation3d(1, -2, 3));
  write_affine(path("shift.mat"), shift, Eigen::Vector3d::Zero());
  const auto mapped = [&](const std::string& table) {
    text("in.csv", table);
    const Outcome o = points("-i in.csv -o there.csv --direction fixed-to-moving -t shift.mat");
    return o.status == 0 ? slurp(folder / "there.csv") : o.err;
  };
  EXPECT_EQ(mapped("label,x,y,z\n1,10,20,30\n"), "label,x,y,z\n1,11.000000,18.000000,33.000000\n");
  EXPECT_EQ(mapped("name,x,y,z\n\"1,2\",10,20,30\n"),
            "name,x,y,z\n\"1,2\",11.000000,18.000000,33.000000\n");
  EXPECT_EQ(mapped("# made by hand\nz, Y ,\"x\",comment\r\n30,20,+10,a \"b\"\r\n"),
            "z, Y ,\"x\",comment\n33.000000,18.000000,11.000000,a \"b\"\n");
  EXPECT_EQ(mapped("x\ty\tz\tname\n10\t20\t30\tan,apex\n"),
            "x\ty\tz\tname\n11.000000\t18.000000\t33.000000\tan,apex\n");
  EXPECT_EQ(mapped("x;y;z;name\n10;20,5;30;an,apex\n"),
            "x;y;z;name\n11,000000;18,500000;33,000000;an,apex\n");
  EXPECT_EQ(mapped("10.5;20;30\n"), "11.500000;18.000000;33.000000\n");
  EXPECT_EQ(mapped("1,5;2,5;3,5\n"), "2,500000;0,500000;6,500000\n");
  EXPECT_EQ(mapped("10,20,30,a;b;c\n"), "11.000000,18.000000,33.000000,a;b;c\n");
  EXPECT_EQ(mapped("\xEF\xBB\xBF"
                   "10,20,30\n"),
            "11.000000,18.000000,33.000000\n");
  EXPECT_EQ(mapped("base_i,base_j,base_k\n10,20,30\n"),
            "base_i,base_j,base_k\n11.000000,18.000000,33.000000\n");
  EXPECT_EQ(mapped("index,y_mm,z_mm,x_mm\n7,20,30,10\n"),
            "index,y_mm,z_mm,x_mm\n7,18.000000,33.000000,11.000000\n");
  EXPECT_EQ(mapped("exam,type,size,px,py,pz\n1,2,3,10,20,30\n"),
            "exam,type,size,px,py,pz\n1,2,3,11.000000,18.000000,33.000000\n");
  EXPECT_EQ(mapped("X_RAS,Y_RAS,Z_RAS\n10,20,30\n"),
            "X_RAS,Y_RAS,Z_RAS\n9.000000,22.000000,33.000000\n");
  EXPECT_EQ(mapped("contrast_x,contrast_y,contrast_z\n10,20,30\n"),
            "contrast_x,contrast_y,contrast_z\n11.000000,18.000000,33.000000\n");
  const std::string far = mapped("1e300,20,30\n");
  EXPECT_EQ(std::count(far.begin(), far.end(), ','), 2) << far;
  const std::string slicer =
      "# Markups fiducial file version = 4.11\n# CoordinateSystem = LPS\n"
      "# columns = id,x,y,z,ow,label\n";
  EXPECT_EQ(mapped(slicer + "7,10,20,30,0,apex\n# end\n"),
            slicer + "7,11.000000,18.000000,33.000000,0,apex\n");
  const std::string framed = "# CoordinateSystem = RAS\n";
  EXPECT_EQ(mapped(framed + "x,y,z\n10,20,30\n"), framed + "x,y,z\n9.000000,22.000000,33.000000\n");
  EXPECT_EQ(mapped(framed + "10,20,30\n"), framed + "9.000000,22.000000,33.000000\n");
  const std::string late = "# columns = id,x,y,z\n# CoordinateSystem = 0\n";
  EXPECT_EQ(mapped(late + "1,10,20,30\n"), late + "1,9.000000,22.000000,33.000000\n");
  for (const std::string ras : {"RAS", "IJK"}) {
    text("in.csv", "# CoordinateSystem = " + ras + "\n# columns = id,x,y,z\n1,10,20,30\n");
    expect_refusal(points("-i in.csv -o out.csv --direction fixed-to-moving --frame voxel "
                          "--image in.csv"),
                   ras == "RAS" ? "is RAS, but --frame is voxel" : "is 'IJK', neither LPS nor RAS");
  }
  for (const std::string first :
       {"1O,20,30", "nan,20,30", "10;20", "10;20;x", "10 20 30", "10,20"}) {
    text("in.csv", first + "\n1,2,3\n");
    expect_refusal(points("-i in.csv -o out.csv --direction fixed-to-moving"),
                   "line 1 has no three");
  }
  for (const std::string names : {"label_x,label_y,label_z,x_mm,y_mm,z_mm", "index,type,size",
                                  "x,y,depth", "points of the left lobe"}) {
    text("in.csv", names + "\n1,2,3,4\n");
    expect_refusal(points("-i in.csv -o out.csv --direction fixed-to-moving"),
                   "names of columns x, y and z");
  }
}

TEST_F(RegtoolPoints, ColumnsThatCountVoxelsAreKnownWhereverTheyStand) {
  const std::string call = "-i in.csv --direction fixed-to-moving -o ";
  for (const std::string table : {"i,j,k\n1,2,3\n", "id,i,j,k\na,1,2,3\n", "k,J,i\n1,2,3\n"}) {
    text("in.csv", table);
    expect_refusal(points(call + "out.csv"),
                   "its columns count voxels, by their names; add --frame voxel");
  }
  text("in.csv", "i,j,k,x,y,z\n1,2,3,-21,-19,-17\n");
  ASSERT_EQ(points(call + "mm.csv").status, 0) << "millimetres stand beside them";
  EXPECT_EQ(slurp(folder / "mm.csv"), "i,j,k,x,y,z\n1,2,3,-21.000000,-19.000000,-17.000000\n");
  write_image(path("fine.nii.gz"), plain_geometry({9, 9, 9}), std::vector<float>(729));
  ASSERT_EQ(points(call + "v.csv --frame voxel --image field.nii.gz fine.nii.gz").status, 0);
  EXPECT_EQ(slurp(folder / "v.csv"), "i,j,k,x,y,z\n-21.000000,-19.000000,-17.000000,-21,-19,-17\n");
}

TEST_F(RegtoolPoints, UnitsInTheNamesOfColumnsCount) {
  const std::string call = "-i in.csv -o out.csv --direction fixed-to-moving ";
  const std::pair<const char*, const char*> refused[] = {
      {"x_cm,y_cm,z_cm", "its columns are in cm, by their names; give points in mm"},
      {"X [um],Y [um],Z [um]", "its columns are in um, by their names; give points in mm"},
      {"id,x_vox,y_vox,z_vox", "its columns count voxels, by their names; add --frame voxel"},
      {"voxel x,voxel y,voxel z", "its columns count voxels, by their names; add --frame voxel"}};
  for (const auto& [names, words] : refused) {
    text("in.csv", std::string(names) + "\n1,2,3,4\n");
    expect_refusal(points(call), words);
  }
  for (const char* names : {"x_mm,y_mm,z_mm", "px,py,pz", "locum x,locum y,locum z"}) {
    text("in.csv", std::string(names) + "\n1,2,3\n");
    EXPECT_EQ(points(call).status, 0) << names;
  }
  text("in.csv", "x_vox,y_vox,z_vox\n1,2,3\n");
  EXPECT_EQ(points(call + "--frame voxel --image field.nii.gz").status, 0);
}

TEST_F(RegtoolPoints, SlicersMarkupsKeepWhatIsNoPosition) {
  write_affine(path("shift.mat"), Eigen::Affine3d(Eigen::Translation3d(1, -2, 3)),
               Eigen::Vector3d::Zero());
  const auto markups = [](const std::string& system, const std::string& position) {
    return R"({"@schema": "s", "markups": [{"type": "Fiducial", "coordinateSystem": ")" + system +
           R"(", "coordinateUnits": "mm", "controlPoints": [)" +
           R"({"label": "apex", "position": )" + position + R"(, "positionStatus": "defined"}], )" +
           R"("measurements": [{"value": 4}]}]})";
  };
  const std::string call = "-i in.mrk.json --direction fixed-to-moving -t shift.mat -o ";
  text("in.mrk.json", markups("LPS", "[10, 20, 30.125]"));
  ASSERT_EQ(points(call + "there.mrk.json").status, 0);
  const auto there = nlohmann::json::parse(slurp(folder / "there.mrk.json"));
  const auto expected = nlohmann::json::parse(markups("LPS", "[11.0, 18.0, 33.125]"));
  EXPECT_EQ(there["markups"][0]["controlPoints"], expected["markups"][0]["controlPoints"]);
  EXPECT_EQ(there["@schema"], "s");
  EXPECT_FALSE(there["markups"][0].contains("measurements")) << "they were of other points";
  text("in.mrk.json", markups("RAS", "[10, 20, 30]"));
  ASSERT_EQ(points(call + "ras.mrk.json").status, 0);
  EXPECT_EQ(nlohmann::json::parse(
                slurp(folder / "ras.mrk.json"))["markups"][0]["controlPoints"][0]["position"],
            nlohmann::json({9, 22, 33}));
  expect_refusal(points(call + "out.csv"), "must both be 3D Slicer's markups");
  expect_refusal(points("-i in.csv --direction fixed-to-moving -t shift.mat -o out.fcsv"),
                 "fiducials (.fcsv) or neither");
  for (const std::string wrong : {"{}", "not json", R"({"markups": [{"controlPoints": [{}]}]})"}) {
    text("in.mrk.json", wrong);
    expect_refusal(points(call + "out.mrk.json"), "it is no markups file of 3D Slicer");
  }
  text("in.mrk.json", markups("LPS", "[1, 2]"));
  expect_refusal(points(call + "out.mrk.json"), "it is no markups file of 3D Slicer");
  text("in.mrk.json", markups("IJK", "[1, 2, 3]"));
  expect_refusal(points(call + "out.mrk.json"), "its CoordinateSystem is 'IJK'");
  std::string missing = markups("LPS", R"("")");
  missing.replace(missing.find("defined"), 7, "missing");
  text("in.mrk.json", missing);
  expect_refusal(points(call + "out.mrk.json"), "its point 'apex' has no position");
  std::string box = markups("LPS", "[1, 2, 3]");
  box.replace(box.find("Fiducial"), 8, "ROI");
  text("in.mrk.json", box);
  expect_refusal(points(call + "out.mrk.json"), "type ROI is no list of points");
  text("in.mrk.json", std::string(100000, '[') + std::string(100000, ']'));
  expect_refusal(points(call + "out.mrk.json"), "it is no markups file of 3D Slicer");
}

TEST_F(RegtoolPoints, MeshesInVoxelsTurnWithTheGrid) {
  if (!has_meshes()) GTEST_SKIP() << how_to_get_meshes;
  Geometry left = plain_geometry({12, 12, 12});
  left.direction(0, 0) = -1;  // index to world mirrors
  const std::vector<float> voxels(left.extent.count(), 1);
  write_image(path("left.nii.gz"), left, voxels);
  write_image(path("right.nii.gz"), plain_geometry({12, 12, 12}), voxels);
  const std::string call = "-i box.ply --direction fixed-to-moving --frame voxel -o ";
  ASSERT_EQ(points(call + "same.ply --image left.nii.gz").status, 0);
  ASSERT_EQ(points(call + "other.ply --image left.nii.gz right.nii.gz").status, 0);
  EXPECT_NEAR(enclosed_volume(read_mesh(path("same.ply"))), 480, 1e-2);
  EXPECT_NEAR(enclosed_volume(read_mesh(path("other.ply"))), 480, 1e-2);
}

TEST_F(RegtoolPoints, ABuildWithoutMeshesSaysHowToGetThem) {
  if (has_meshes()) GTEST_SKIP() << "this build has meshes";
  expect_refusal(points("-i box.ply -o out.ply --direction fixed-to-moving -t turn.mat"),
                 "libvtk9-dev");
}

TEST_F(RegtoolPoints, VoxelsAreThoseOfTheImagesNamed) {
  const Geometry from = oblique_geometry({12, 14, 16}, {1.5, 2, 2.5});
  Geometry to = oblique_geometry({20, 10, 12}, {1, 3, 2});
  to.origin += Eigen::Vector3d(4, -3, 2);
  write_image(path("from.nii.gz"), from, std::vector<float>(from.extent.count(), 1));
  write_image(path("to.nii.gz"), to, std::vector<float>(to.extent.count(), 1));
  text("v.csv", "i,j,k\n0,0,0\n3,5.5,7\n");
  const std::string call =
      "-i v.csv --direction fixed-to-moving --frame voxel -t turn.mat -o w.csv --image from.nii.gz";
  const Eigen::Affine3d turn = read_affine(path("turn.mat"));
  for (const bool two : {false, true}) {
    ASSERT_EQ(points(call + (two ? " to.nii.gz" : "")).status, 0);
    const Eigen::Affine3d expected =
        (two ? to : from).world_to_index() * turn * from.index_to_world();
    const std::vector<Eigen::Vector3d> mapped = table("w.csv");
    ASSERT_EQ(mapped.size(), 2u);
    EXPECT_LT((mapped[0] - expected * Eigen::Vector3d(0, 0, 0)).norm(), 1e-4);
    EXPECT_LT((mapped[1] - expected * Eigen::Vector3d(3, 5.5, 7)).norm(), 1e-4);
  }
  ASSERT_EQ(points("-i w.csv --direction moving-to-fixed --frame voxel -t turn.mat -o x.csv "
                   "--image to.nii.gz from.nii.gz")
                .status,
            0);
  EXPECT_LT((table("x.csv")[1] - Eigen::Vector3d(3, 5.5, 7)).norm(), 1e-4) << "and back";
}

TEST_F(RegtoolPoints, SurfacesAndStreamlinesOfOthersAreNoTables) {
  using namespace std::string_literals;
  for (const auto& [name, begin] : {std::pair{"lh.white", "\xff\xff\xfe made by\n\n\0\0\1"s},
                                    {"lh.gii", "<?xml version=\"1.0\"?>\n"s},
                                    {"a.tck", "mrtrix tracks\ncount: 1\n"s},
                                    {"a.trk", "TRACK\0\1"s}}) {
    std::ofstream(folder / name, std::ios::binary) << begin;
    expect_refusal(run(regtool + " points --direction fixed-to-moving -o out.csv -i " + name),
                   "it is no table of points; a surface goes in as .ply, .stl, .obj or .vtk");
  }
  text("elastix.txt", "point\n2\n1 2 3\n4 5 6\n");
  expect_refusal(run(regtool + " points --direction fixed-to-moving -o out.csv -i elastix.txt"),
                 "it is elastix' list of points; make a table of it: awk 'NR > 2");
  std::ofstream(folder / "wide.csv", std::ios::binary) << "\xff\xfex\0,\0y\0"s;
  expect_refusal(run(regtool + " points --direction fixed-to-moving -o out.csv -i wide.csv"),
                 "it is text in UTF-16; save it as UTF-8");
}

TEST_F(RegtoolPoints, BeyondAFieldOnlyAffinesHold) {
  text("p.csv", "100,0,0\n0,-60,1\n");
  for (const std::string direction : {"fixed-to-moving", "moving-to-fixed"}) {
    const Outcome o =
        points("-i p.csv -o q.csv -t field.nii.gz -t turn.mat --direction " + direction);
    ASSERT_EQ(o.status, 0);
    EXPECT_NE(o.err.find("2 of the 2 points of '" +
                         std::string(direction == "fixed-to-moving" ? "p.csv" : "q.csv") +
                         "' lie beyond the field's grid, where nothing is displaced"),
              std::string::npos)
        << o.err;
    Eigen::Affine3d turn = read_affine(path("turn.mat"));
    if (direction == "moving-to-fixed") turn = turn.inverse();
    EXPECT_LT((table("q.csv")[0] - turn * Eigen::Vector3d(100, 0, 0)).norm(), 2e-6);
    EXPECT_LT((table("q.csv")[1] - turn * Eigen::Vector3d(0, -60, 1)).norm(), 2e-6);
  }
}

TEST_F(RegtoolPoints, RefusesUnusableCalls) {
  text("p.csv", "1,2,3\n");
  const std::string call = "-i p.csv -o out.csv -t turn.mat --direction fixed-to-moving ";
  expect_refusal(points(call + "--frame voxel"), "--image FROM TO");
  expect_refusal(points(call + "--image field.nii.gz"), "--frame voxel");
  expect_refusal(points(call + "--frame voxel --image missing.nii.gz"), "missing.nii.gz");
  expect_refusal(points(call + "--frame mni"), "lps, ras, voxel");
  const std::string mesh = " -t turn.mat --direction fixed-to-moving ";
  expect_refusal(points("-i box.ply -o out.csv" + mesh), "must both be meshes");
  expect_refusal(points("-i p.csv -o out.ply" + mesh), "must both be meshes");
  expect_refusal(points("-i box.ply -o box.ply" + mesh), "also an input");
  if (!has_meshes()) return;
  text("cut.ply", std::string(box_ply).substr(0, 300));
  text("empty.ply",
       "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\n"
       "property float z\nend_header\n");
  std::string nan = box_ply;
  text("nan.ply", nan.replace(nan.find("60 70 80"), 8, "60 nan 80"));
  for (const std::string name : {"cut.ply", "empty.ply", "nan.ply", "missing.vtk"})
    expect_refusal(points(from_to(name, "out.ply") + mesh), name);
}

}  // namespace regtool_points_test
}  // namespace freeflow
