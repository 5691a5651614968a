#include <freeflow/io/mesh_file.h>

#include <vtkCellArray.h>
#include <vtkCellArrayIterator.h>
#include <vtkCellData.h>
#include <vtkCleanPolyData.h>
#include <vtkErrorCode.h>
#include <vtkFloatArray.h>
#include <vtkFlyingEdges3D.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkOBJWriter.h>
#include <vtkPLYReader.h>
#include <vtkPLYWriter.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkPolyDataReader.h>
#include <vtkPolyDataWriter.h>
#include <vtkSTLReader.h>
#include <vtkSTLWriter.h>
#include <vtkSmartPointer.h>
#include <vtkTriangleFilter.h>
#include <vtkVersionMacros.h>

#include <type_traits>

#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/mesh_quiet.h>
#include <freeflow/io/mesh_space.h>
#include <freeflow/io/obj_file.h>
#include <freeflow/io/ply_check.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

namespace {

TriangleMesh from_vtk(vtkPolyData* data) {
  TriangleMesh mesh;
  for (vtkIdType i = 0; i < data->GetNumberOfPoints(); ++i)
    mesh.points.emplace_back(data->GetPoint(i));
  const auto triangles = vtk::TakeSmartPointer(data->GetPolys()->NewIterator());
  for (triangles->GoToFirstCell(); !triangles->IsDoneWithTraversal(); triangles->GoToNextCell()) {
    vtkIdType count = 0;
    const vtkIdType* corners = nullptr;
    triangles->GetCurrentCell(count, corners);
    if (count == 3 && corners[0] != corners[1] && corners[1] != corners[2] &&
        corners[2] != corners[0])
      mesh.triangles.push_back({int(corners[0]), int(corners[1]), int(corners[2])});
  }
  return mesh;
}

/// VTK's filters follow whatever numbers a file gives its cells' corners.
void check_corners(const std::string& path, vtkPolyData* data) {
  for (vtkCellArray* cells :
       {data->GetVerts(), data->GetLines(), data->GetPolys(), data->GetStrips()}) {
    const auto cell = vtk::TakeSmartPointer(cells->NewIterator());
    for (cell->GoToFirstCell(); !cell->IsDoneWithTraversal(); cell->GoToNextCell()) {
      vtkIdType count = 0;
      const vtkIdType* corners = nullptr;
      cell->GetCurrentCell(count, corners);
      for (vtkIdType k = 0; k < count; ++k)
        if (corners[k] < 0 || corners[k] >= data->GetNumberOfPoints())
          fail_reading(path, "a face names a point that is not among its " +
                                 std::to_string(data->GetNumberOfPoints()));
    }
  }
}

using Surface = vtkSmartPointer<vtkPolyData>;

template <class Reader>
Surface read_with(const std::string& path) {
  vtkNew<Reader> reader;
  reader->SetFileName(path.c_str());
  if constexpr (std::is_same_v<Reader, vtkPLYReader>)
    reader->SetDuplicatePointsForFaceTexture(false);  // vertices keep their number
  reader->Update();
  if (reader->GetErrorCode() != vtkErrorCode::NoError)
    fail_reading(path, std::string("VTK says: ") +
                           vtkErrorCode::GetStringFromErrorCode(reader->GetErrorCode()));
  check_corners(path, reader->GetOutput());
  return reader->GetOutput();
}

Surface to_vtk(const ObjMesh& mesh) {
  vtkNew<vtkPoints> points;
  points->SetNumberOfPoints(vtkIdType(mesh.vertices.size()));
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i)
    points->SetPoint(vtkIdType(i), mesh.vertices[i].data());
  vtkNew<vtkCellArray> faces;
  for (const std::vector<int>& face : mesh.faces) {
    faces->InsertNextCell(int(face.size()));
    for (const int corner : face) faces->InsertCellPoint(corner);
  }
  Surface surface = Surface::New();
  surface->SetPoints(points);
  surface->SetPolys(faces);
  return surface;
}

constexpr const char* known_meshes =
    "its extension names no known mesh; use .ply, .stl, .obj or .vtk";

Surface read_surface(const std::string& path) {
  size_of_readable_file(path);
  if (has_extension(path, ".ply")) {
    check_ply(path);
    return read_with<vtkPLYReader>(path);
  }
  if (has_extension(path, ".stl")) return read_with<vtkSTLReader>(path);
  if (has_extension(path, ".obj")) return to_vtk(read_obj(path));
  if (has_extension(path, ".vtk")) return read_with<vtkPolyDataReader>(path);
  fail_reading(path, known_meshes);
}

/// Polygons and strips as triangles, over the same points.
Surface triangulated(vtkPolyData* surface) {
  vtkNew<vtkTriangleFilter> triangles;
  triangles->SetInputData(surface);
  triangles->PassVertsOff();
  triangles->PassLinesOff();
  triangles->Update();
  return triangles->GetOutput();
}

template <class Writer>
void write_with(const std::string& path, Writer& writer) {
  writer.SetFileName(path.c_str());
  if (writer.Write() != 1 || writer.GetErrorCode() != vtkErrorCode::NoError) fail_cut_short(path);
}

void write_ply(const std::string& path, vtkPolyData* surface, const std::string& remark) {
  vtkNew<vtkPLYWriter> writer;
  if (!remark.empty()) writer->AddComment(remark);
  writer->SetInputData(surface);
  writer->SetFileTypeToBinary();
  for (const char* colours : {"RGB", "RGBA"})  // as VTK's reader names them
    if (surface->GetPointData()->HasArray(colours)) {
      writer->SetArrayName(colours);
      writer->SetEnableAlpha(std::string(colours) == "RGBA");
    }
  write_with(path, *writer);
}

}  // namespace

void silence_mesh_readers() { vtkObject::GlobalWarningDisplayOff(); }

bool has_meshes() { return true; }

bool is_mesh_name(const std::string& path) {
  return has_extension(path, ".ply") || has_extension(path, ".stl") ||
         has_extension(path, ".obj") || has_extension(path, ".vtk");
}

TriangleMesh read_mesh(const std::string& path) {
  vtkNew<vtkCleanPolyData> clean;
  clean->SetInputData(triangulated(read_surface(path)));
  clean->SetTolerance(0);
  clean->Update();
  TriangleMesh mesh = from_vtk(clean->GetOutput());
  if (mesh.triangles.empty()) fail_reading(path, "it holds no triangles, or VTK cannot read them");
  if (mesh_space(path) == "ras")
    for (Eigen::Vector3d& p : mesh.points) p = {-p.x(), -p.y(), p.z()};
  return mesh;
}

void write_mesh(const std::string& path, const TriangleMesh& mesh) {
  vtkNew<vtkPoints> points;
  points->SetDataTypeToFloat();
  for (const Eigen::Vector3d& p : mesh.points) points->InsertNextPoint(p.data());
  vtkNew<vtkCellArray> polygons;
  for (const auto& t : mesh.triangles) polygons->InsertNextCell({t[0], t[1], t[2]});
  vtkNew<vtkPolyData> data;
  data->SetPoints(points);
  data->SetPolys(polygons);
  write_ply(path, data, "");
}

struct MovableMesh::Data {
  Surface surface;
  std::string space;
};

MovableMesh::MovableMesh(const std::string& path)
    : data_(std::make_unique<Data>(Data{read_surface(path), mesh_space(path)})) {
  Surface& surface = data_->surface;
  if (surface->GetNumberOfPoints() == 0)
    fail_reading(path, "it holds no vertices, or VTK cannot read them");
  std::size_t number = 0;
  for (const Eigen::Vector3d& v : vertices())
    if (++number; !v.allFinite())
      fail_reading(path, "its vertex " + std::to_string(number) + " is not finite");
  if (surface->GetNumberOfStrips() > 0) surface = triangulated(surface);  // they cannot be turned
}

MovableMesh::~MovableMesh() = default;
MovableMesh::MovableMesh(MovableMesh&&) noexcept = default;

std::string MovableMesh::space() const { return data_->space; }

std::vector<Eigen::Vector3d> MovableMesh::vertices() const {
  std::vector<Eigen::Vector3d> all(std::size_t(data_->surface->GetNumberOfPoints()));
  for (std::size_t i = 0; i < all.size(); ++i)
    data_->surface->GetPoint(vtkIdType(i), all[i].data());
  return all;
}

void MovableMesh::move_to(std::span<const Eigen::Vector3d> vertices) {
  vtkPolyData& surface = *data_->surface;
  require(vertices.size() == std::size_t(surface.GetNumberOfPoints()),
          "a mesh keeps its number of vertices");
  vtkNew<vtkPoints> points;
  points->SetDataType(surface.GetPoints()->GetDataType());
  points->SetNumberOfPoints(surface.GetNumberOfPoints());
  for (std::size_t i = 0; i < vertices.size(); ++i)
    points->SetPoint(vtkIdType(i), vertices[i].data());
  surface.SetPoints(points);
  surface.GetPointData()->SetNormals(nullptr);
  surface.GetCellData()->SetNormals(nullptr);
}

void MovableMesh::turn_faces() {
  vtkCellArray& faces = *data_->surface->GetPolys();
  for (vtkIdType i = 0; i < faces.GetNumberOfCells(); ++i) faces.ReverseCellAtId(i);
}

void MovableMesh::write(const std::string& path) const {
  const std::string remark = mesh_space_remark(data_->space);
  if (has_extension(path, ".ply")) return write_ply(path, data_->surface, remark);
  if (has_extension(path, ".stl")) {
    vtkNew<vtkSTLWriter> writer;
    const Surface triangles = triangulated(data_->surface);
    writer->SetInputData(triangles);
    writer->SetFileTypeToBinary();
    if (!remark.empty()) writer->SetHeader(remark.c_str());
    return write_with(path, *writer);
  }
  if (has_extension(path, ".obj")) {
    vtkNew<vtkOBJWriter> writer;
    writer->SetInputData(data_->surface);
    write_with(path, *writer);
    if (!remark.empty()) put_before_obj(path, remark);
    return;
  }
  if (!has_extension(path, ".vtk")) fail_writing(path, known_meshes);
  vtkNew<vtkPolyDataWriter> writer;
  writer->SetInputData(data_->surface);
  writer->SetFileTypeToBinary();
  if (!remark.empty()) writer->SetHeader(remark.c_str());
#if VTK_VERSION_NUMBER >= VTK_VERSION_CHECK(9, 1, 0)
  writer->SetFileVersion(vtkPolyDataWriter::VTK_LEGACY_READER_VERSION_4_2);  // which all can read
#endif
  write_with(path, *writer);
}

TriangleMesh iso_surface(const Geometry& geometry, const std::vector<float>& values, double iso) {
  require(values.size() == geometry.extent.count(),
          "the number of voxels does not fit the geometry");
  vtkNew<vtkFloatArray> scalars;
  scalars->SetArray(const_cast<float*>(values.data()), vtkIdType(values.size()),
                    1);  // 1: VTK does not free it
  vtkNew<vtkImageData> image;
  image->SetDimensions(geometry.extent.x, geometry.extent.y, geometry.extent.z);
  image->GetPointData()->SetScalars(scalars);
  vtkNew<vtkFlyingEdges3D> contour;
  contour->SetInputData(image);
  contour->SetValue(0, iso);
  contour->ComputeNormalsOff();
  contour->ComputeScalarsOff();
  contour->Update();
  TriangleMesh mesh = from_vtk(contour->GetOutput());
  const Eigen::Affine3d to_world = geometry.index_to_world();
  for (Eigen::Vector3d& p : mesh.points) p = to_world * p;
  // VTK's triangles turn towards smaller values; a direction that mirrors turns them once more.
  const bool flip = to_world.linear().determinant() > 0;
  if (flip)
    for (auto& t : mesh.triangles) std::swap(t[1], t[2]);
  return mesh;
}

}  // namespace freeflow
