// Meshes in files (.ply, .stl, .obj, legacy .vtk) and iso-surfaces, through VTK where the build has
// it. No VTK type appears in this header.
#pragma once

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

/// Reads a mesh; polygons are cut into triangles, points at one place become one. Throws IoError
/// when the file is missing, damaged or holds no triangles, or the build has no VTK.
TriangleMesh read_mesh(const std::string& path);

/// Writes a binary .ply. Throws IoError.
void write_mesh(const std::string& path, const TriangleMesh& mesh);

/// Where `values` (x fastest) cross `iso`, as triangles in the world. Outside is where they are
/// larger.
TriangleMesh iso_surface(const Geometry& geometry, const std::vector<float>& values, double iso);

}  // namespace freeflow
