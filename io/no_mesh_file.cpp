// Stands in for mesh_file.cpp in a build without VTK.
#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/mesh_file.h>
#include <freeflow/io/mesh_quiet.h>

namespace freeflow {

void silence_mesh_readers() {}

bool has_meshes() { return false; }

bool is_mesh_name(const std::string& path) {
  return has_extension(path, ".ply") || has_extension(path, ".stl") ||
         has_extension(path, ".obj") || has_extension(path, ".vtk");
}

TriangleMesh read_mesh(const std::string& path) { fail_reading(path, how_to_get_meshes); }

void write_mesh(const std::string& path, const TriangleMesh&) {
  fail_writing(path, how_to_get_meshes);
}

struct MovableMesh::Data {};
MovableMesh::MovableMesh(const std::string& path) { fail_reading(path, how_to_get_meshes); }
MovableMesh::~MovableMesh() = default;
MovableMesh::MovableMesh(MovableMesh&&) noexcept = default;
std::string MovableMesh::space() const { return {}; }
std::vector<Eigen::Vector3d> MovableMesh::vertices() const { return {}; }
void MovableMesh::move_to(std::span<const Eigen::Vector3d>) {}
void MovableMesh::turn_faces() {}
void MovableMesh::write(const std::string& path) const { fail_writing(path, how_to_get_meshes); }

TriangleMesh iso_surface(const Geometry&, const std::vector<float>&, double) {
  throw InvalidArgument(how_to_get_meshes);
}

}  // namespace freeflow
