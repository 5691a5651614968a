// Private to io: Wavefront .obj as it stands. VTK's reader makes new vertices, in another order,
// where corners have texture coordinates, and what moves vertices must keep theirs.
#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

namespace freeflow {

struct ObjMesh {
  std::vector<Eigen::Vector3d> vertices;
  std::vector<std::vector<int>> faces;  // of any number of corners, counted from 0
};

/// Vertices and faces; what else there is (textures, normals, lines, groups) is left out. Throws
/// IoError with the line that cannot be read or the face that names a missing vertex.
ObjMesh read_obj(const std::string& path);

}  // namespace freeflow
