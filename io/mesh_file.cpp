#include <freeflow/io/mesh_file.h>

#include <vtkCellArray.h>
#include <vtkCellArrayIterator.h>
#include <vtkCleanPolyData.h>
#include <vtkErrorCode.h>
#include <vtkFloatArray.h>
#include <vtkFlyingEdges3D.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkOBJReader.h>
#include <vtkPLYReader.h>
#include <vtkPLYWriter.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkPolyDataReader.h>
#include <vtkSTLReader.h>
#include <vtkTriangleFilter.h>

#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/ply_check.h>

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

template <class Reader>
TriangleMesh read_with(const std::string& path) {
  vtkNew<Reader> reader;
  reader->SetFileName(path.c_str());
  reader->Update();
  if (reader->GetErrorCode() != vtkErrorCode::NoError)
    fail_reading(path, std::string("VTK says: ") +
                           vtkErrorCode::GetStringFromErrorCode(reader->GetErrorCode()));
  check_corners(path, reader->GetOutput());
  vtkNew<vtkTriangleFilter> triangles;
  triangles->SetInputConnection(reader->GetOutputPort());
  triangles->PassVertsOff();
  triangles->PassLinesOff();
  vtkNew<vtkCleanPolyData> clean;
  clean->SetInputConnection(triangles->GetOutputPort());
  clean->SetTolerance(0);
  clean->Update();
  TriangleMesh mesh = from_vtk(clean->GetOutput());
  if (mesh.triangles.empty()) fail_reading(path, "it holds no triangles, or VTK cannot read them");
  return mesh;
}

}  // namespace

bool has_meshes() { return true; }

bool is_mesh_name(const std::string& path) {
  return has_extension(path, ".ply") || has_extension(path, ".stl") ||
         has_extension(path, ".obj") || has_extension(path, ".vtk");
}

TriangleMesh read_mesh(const std::string& path) {
  size_of_readable_file(path);
  vtkObject::GlobalWarningDisplayOff();  // what is wrong is said once, by us
  if (has_extension(path, ".ply")) {
    check_ply(path);
    return read_with<vtkPLYReader>(path);
  }
  if (has_extension(path, ".stl")) return read_with<vtkSTLReader>(path);
  if (has_extension(path, ".obj")) return read_with<vtkOBJReader>(path);
  if (has_extension(path, ".vtk")) return read_with<vtkPolyDataReader>(path);
  fail_reading(path, "its extension names no known mesh; use .ply, .stl, .obj or .vtk");
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
  vtkNew<vtkPLYWriter> writer;
  writer->SetInputData(data);
  writer->SetFileName(path.c_str());
  writer->SetFileTypeToBinary();
  if (writer->Write() != 1) fail_writing(path, "VTK cannot write it; is the disk full?");
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
