// Meshes in files (.ply, .stl, .obj, legacy .vtk) and iso-surfaces, through VTK where the build has
// it. No VTK type appears in this header.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <freeflow/denoise/mesh.h>

namespace freeflow {

/// Whether this build reads and writes meshes.
bool has_meshes();
/// What to do where it does not: the end of a sentence.
inline constexpr const char* how_to_get_meshes =
    "this build has no meshes: install VTK (Debian: libvtk9-dev) and configure again with "
    "-DFREEFLOW_WITH_VTK=ON";

/// True for the extensions of meshes, in either case.
bool is_mesh_name(const std::string& path);

/// Reads a mesh, in LPS millimetres; polygons are cut into triangles, points at one place become
/// one. Numbers are LPS unless the file says "SPACE=RAS", as 3D Slicer's do. Throws IoError when
/// the file is missing, damaged or holds no triangles, or the build has no VTK.
TriangleMesh read_mesh(const std::string& path);

/// Writes a binary .ply. Throws IoError.
void write_mesh(const std::string& path, const TriangleMesh& mesh);

/// A mesh as its file holds it, whose vertices move while the rest stays: their order, polygons of
/// any number of corners, lines, and colours and values where the format written has a place for
/// them (.obj: faces alone; .stl has no vertices of its own, so equal corners become one). Normals
/// do not stay, as they would be wrong.
class MovableMesh {
 public:
  /// Reads .ply, .stl, .obj or legacy .vtk. Throws IoError when the file is missing, damaged or
  /// without vertices, when a vertex is not finite, or the build has no VTK.
  explicit MovableMesh(const std::string& path);
  ~MovableMesh();
  MovableMesh(MovableMesh&&) noexcept;

  /// "ras" or "lps" where the file says so, as 3D Slicer's do, else ""; what is written says it,
  /// too.
  std::string space() const;
  /// The numbers of the file.
  std::vector<Eigen::Vector3d> vertices() const;
  /// As many as there are.
  void move_to(std::span<const Eigen::Vector3d> vertices);
  /// The corners of every face in reverse, as a mirrored mesh needs for its normals to point
  /// outwards.
  void turn_faces();
  /// In the format of the extension: binary, but .obj. Throws IoError.
  void write(const std::string& path) const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

/// Where `values` (x fastest) cross `iso`, as triangles in the world. Outside is where they are
/// larger.
TriangleMesh iso_surface(const Geometry& geometry, const std::vector<float>& values, double iso);

}  // namespace freeflow
