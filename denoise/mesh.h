// Triangle meshes, and the signed distance to a closed one. Points are world millimetres, LPS.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <freeflow/core/volume.h>
#include <freeflow/denoise/signed_distance.h>

namespace freeflow {

struct TriangleMesh {
  std::vector<Eigen::Vector3d> points;
  std::vector<std::array<int, 3>> triangles;  ///< counter-clockwise seen from outside
};

/// Throws InvalidArgument, with `name` in the sentence, when the mesh has no triangles, points that
/// are not finite, or an edge that does not belong to an even number of triangles.
void require_closed(const TriangleMesh& mesh, const std::string& name);

/// A grid of cubes of `side_mm` around the mesh, `margin` voxels wider on each side. Throws
/// InvalidArgument when it has more than 2^31 voxels.
Geometry grid_around(const TriangleMesh& mesh, double side_mm, int margin);

/// The longest side of the mesh's box, mm.
double longest_side(const TriangleMesh& mesh);

/// Distance to a closed mesh, by its nearest points in the voxels beside it; inside is what an odd
/// number of triangles separates from infinity, whatever their orientation. The grid must contain
/// the mesh.
Volume<float> signed_distance(Context& ctx, const TriangleMesh& mesh, const Geometry& geometry);

}  // namespace freeflow
