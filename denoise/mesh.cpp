#include <freeflow/denoise/mesh.h>
#include <freeflow/denoise/numbered.h>

#include <algorithm>
#include <cmath>
#include <map>

#include <freeflow/core/error.h>

namespace freeflow {

namespace {

using Eigen::Vector3d;

/// Ericson, "Real-Time Collision Detection", 5.1.5.
Vector3d nearest_on_triangle(const Vector3d& p, const Vector3d& a, const Vector3d& b,
                             const Vector3d& c) {
  const Vector3d ab = b - a, ac = c - a, ap = p - a, bp = p - b, cp = p - c;
  const double d1 = ab.dot(ap), d2 = ac.dot(ap), d3 = ab.dot(bp), d4 = ac.dot(bp), d5 = ab.dot(cp),
               d6 = ac.dot(cp);
  if (d1 <= 0 && d2 <= 0) return a;
  if (d3 >= 0 && d4 <= d3) return b;
  if (d6 >= 0 && d5 <= d6) return c;
  const double vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return a + d1 / (d1 - d3) * ab;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return a + d2 / (d2 - d6) * ac;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0)
    return b + (d4 - d3) / ((d4 - d3) + (d5 - d6)) * (c - b);
  const double sum = va + vb + vc;
  return sum > 0 ? Vector3d(a + vb / sum * ab + vc / sum * ac) : a;
}

/// The mesh in voxels of the grid, with what is written about each voxel.
struct Rasterizer {
  const Geometry& grid;
  std::vector<Vector3d> points;  // continuous indices
  std::vector<SurfaceSeed> seeds;
  std::vector<float> inside;
  double unit;

  Rasterizer(const TriangleMesh& mesh, const Geometry& g)
      : grid(g), seeds(g.extent.count(), SurfaceSeed{{0, 0, 0}, 3e38f}),
        inside(g.extent.count(), 0.0f), unit(std::cbrt(g.spacing.prod())) {
    const Eigen::Affine3d to_index = g.world_to_index();
    for (const Vector3d& p : mesh.points) points.push_back(to_index * p);
  }

  std::size_t offset(int x, int y, int z) const { return grid.extent.offset(x, y, z); }

  /// Voxels not farther from the triangle than a voxel's shortest side learn of its nearest point.
  /// They lie in its box, a voxel wider: so what is kept is the nearest of the whole mesh.
  void near(const std::array<int, 3>& t) {
    const Vector3d &a = points[t[0]], &b = points[t[1]], &c = points[t[2]];
    const Vector3d scale = grid.spacing / unit, low = a.cwiseMin(b).cwiseMin(c),
                   high = a.cwiseMax(b).cwiseMax(c);
    const Vector3d wa = a.cwiseProduct(scale), wb = b.cwiseProduct(scale),
                   wc = c.cwiseProduct(scale);
    const Vector3d cross = (wb - wa).cross(wc - wa);
    const auto from = [](double v) { return std::max(0, int(std::ceil(v)) - 1); };
    for (int z = from(low.z()); z <= std::min(grid.extent.z - 1, int(std::floor(high.z())) + 1);
         ++z)
      for (int y = from(low.y()); y <= std::min(grid.extent.y - 1, int(std::floor(high.y())) + 1);
           ++y)
        for (int x = from(low.x()); x <= std::min(grid.extent.x - 1, int(std::floor(high.x())) + 1);
             ++x) {
          const Vector3d p = Vector3d(x, y, z).cwiseProduct(scale),
                         way = nearest_on_triangle(p, wa, wb, wc) - p;
          const double d = way.norm();
          SurfaceSeed& seed = seeds[offset(x, y, z)];
          if (d > scale.minCoeff() || !(float(d) < seed.distance)) continue;
          // On the surface itself the way has no direction; the triangle's plane has.
          const Vector3d normal = d > 1e-6           ? Vector3d(way / d)
                                  : cross.norm() > 0 ? Vector3d(cross.normalized())
                                                     : Vector3d(1, 0, 0);
          seed = {{float(normal.x()), float(normal.y()), float(normal.z())}, float(d)};
        }
  }

  /// Which side of the edge p -> q (y and z) the point lies on; the same value, up to its sign,
  /// whichever way the edge is given.
  static double side_of(const Vector3d& p, const Vector3d& q, double y, double z) {
    const bool swap = q.y() < p.y() || (q.y() == p.y() && q.z() < p.z());
    const Vector3d &u = swap ? q : p, &v = swap ? p : q;
    const double area = (v.y() - u.y()) * (z - u.z()) - (v.z() - u.z()) * (y - u.y());
    return swap ? -area : area;
  }
  /// Points on an edge belong to the triangle on one side of it.
  static bool covers(double area, const Vector3d& p, const Vector3d& q) {
    return area > 0 || (area == 0 && (q.z() > p.z() || (q.z() == p.z() && q.y() < p.y())));
  }

  /// Rows of voxels that pass through the triangle change sides there.
  void cross(const std::array<int, 3>& t) {
    const Vector3d& a = points[t[0]];
    const double turn = (points[t[1]].y() - a.y()) * (points[t[2]].z() - a.z()) -
                        (points[t[1]].z() - a.z()) * (points[t[2]].y() - a.y());
    if (turn == 0) return;
    const Vector3d &b = turn > 0 ? points[t[1]] : points[t[2]],
                   &c = turn > 0 ? points[t[2]] : points[t[1]];
    const Vector3d low = a.cwiseMin(b).cwiseMin(c), high = a.cwiseMax(b).cwiseMax(c);
    for (int z = std::max(0, int(std::ceil(low.z())));
         z <= std::min(grid.extent.z - 1, int(std::floor(high.z()))); ++z)
      for (int y = std::max(0, int(std::ceil(low.y())));
           y <= std::min(grid.extent.y - 1, int(std::floor(high.y()))); ++y) {
        const double ab = side_of(a, b, y, z), bc = side_of(b, c, y, z), ca = side_of(c, a, y, z);
        if (!covers(ab, a, b) || !covers(bc, b, c) || !covers(ca, c, a)) continue;
        const double x = (a.x() * bc + b.x() * ca + c.x() * ab) / (ab + bc + ca);
        const int first = std::clamp(int(std::ceil(x)), 0, grid.extent.x);
        if (first < grid.extent.x) inside[offset(first, y, z)] += 1;
      }
  }

  /// Counts of crossings become parities.
  void fill() {
    for (int z = 0; z < grid.extent.z; ++z)
      for (int y = 0; y < grid.extent.y; ++y) {
        int crossings = 0;
        for (int x = 0; x < grid.extent.x; ++x) {
          float& value = inside[offset(x, y, z)];
          crossings += int(value);
          value = float(crossings % 2);
        }
      }
  }
};

Eigen::AlignedBox3d box_of(const TriangleMesh& mesh) {
  Eigen::AlignedBox3d box;
  for (const Vector3d& p : mesh.points) box.extend(p);
  return box;
}

}  // namespace

void require_closed(const TriangleMesh& mesh, const std::string& name) {
  require(!mesh.triangles.empty(), "the mesh '" + name + "' has no triangles");
  for (const Vector3d& p : mesh.points)
    require(p.allFinite(), "the mesh '" + name + "' has points that are not finite");
  std::map<std::pair<int, int>, int> triangles_at;
  for (const auto& t : mesh.triangles)
    for (int k = 0; k < 3; ++k) ++triangles_at[std::minmax(t[k], t[(k + 1) % 3])];
  const auto open = std::count_if(triangles_at.begin(), triangles_at.end(),
                                  [](const auto& edge) { return edge.second % 2 != 0; });
  require(open == 0, "the mesh '" + name + "' is open: " + std::to_string(open) +
                         " edges have a triangle on one side only; close its holes first");
}

double longest_side(const TriangleMesh& mesh) { return box_of(mesh).sizes().maxCoeff(); }

Geometry grid_around(const TriangleMesh& mesh, double side_mm, int margin) {
  const Eigen::AlignedBox3d box = box_of(mesh);
  const Vector3d voxels = (box.sizes() / side_mm).array().ceil() + 2 * margin + 1;
  require(voxels.prod() < 2147483647.0,
          "a grid of " + std::to_string(side_mm) +
              " mm around the mesh has more voxels than can be used; take a coarser grid");
  Geometry g;
  g.extent = {int(voxels.x()), int(voxels.y()), int(voxels.z())};
  g.spacing = Vector3d::Constant(side_mm);
  g.origin = box.min() - Vector3d::Constant(margin * side_mm);
  return g;
}

Volume<float> signed_distance(Context& ctx, const TriangleMesh& mesh, const Geometry& geometry) {
  check_numbered(geometry, "the grid around the mesh");
  Rasterizer r(mesh, geometry);
  for (const auto& t : mesh.triangles) {
    r.near(t);
    r.cross(t);
  }
  r.fill();
  return signed_distance(ctx, geometry, r.seeds, r.inside);
}

}  // namespace freeflow
