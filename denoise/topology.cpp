#include <freeflow/denoise/topology.h>

#include <algorithm>
#include <numeric>

#include <freeflow/core/error.h>

namespace freeflow {

namespace {

/// The grid with a border of outside around it, so that nothing needs a check and all of the
/// border's outside is one part.
struct Padded {
  Extent extent;
  std::vector<std::uint8_t> inside;

  Padded(const std::vector<std::uint8_t>& given, Extent n)
      : extent{n.x + 2, n.y + 2, n.z + 2}, inside(extent.count(), 0) {
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x)
          inside[at(x + 1, y + 1, z + 1)] = given[(std::size_t(z) * n.y + y) * n.x + x] != 0;
  }
  std::size_t at(int x, int y, int z) const {
    return (std::size_t(z) * extent.y + y) * extent.x + x;
  }
};

/// Disjoint sets of voxels with path halving.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  std::uint32_t root(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

/// Vertices - edges + faces - cubes of the union of the closed voxels. A cell belongs to the voxels
/// around its lowest vertex's corner.
std::int64_t euler_number(const Padded& p) {
  std::int64_t euler = 0;
  for (int z = 1; z < p.extent.z; ++z)
    for (int y = 1; y < p.extent.y; ++y)
      for (int x = 1; x < p.extent.x; ++x) {
        const auto in = [&](int dx, int dy, int dz) {
          return p.inside[p.at(x - dx, y - dy, z - dz)] != 0;
        };
        const bool c = in(0, 0, 0), cx = in(1, 0, 0), cy = in(0, 1, 0), cz = in(0, 0, 1);
        const bool face_yz = c || cx, face_xz = c || cy, face_xy = c || cz;
        const bool edge_x = face_xz || cz || in(0, 1, 1), edge_y = face_yz || cz || in(1, 0, 1),
                   edge_z = face_yz || cy || in(1, 1, 0);
        const bool vertex = edge_x || edge_y || edge_z || in(1, 1, 1);
        euler += int(vertex) - (int(edge_x) + int(edge_y) + int(edge_z)) +
                 (int(face_yz) + int(face_xz) + int(face_xy)) - int(c);
      }
  return euler;
}

/// Joins every voxel with those before it: all 13 inside, the 3 across faces outside.
Sets connected(const Padded& p) {
  Sets sets(p.inside.size());
  for (int z = 0; z < p.extent.z; ++z)
    for (int y = 0; y < p.extent.y; ++y)
      for (int x = 0; x < p.extent.x; ++x) {
        const std::size_t i = p.at(x, y, z);
        for (int dz = -1; dz <= 0; ++dz)
          for (int dy = -1; dy <= (dz < 0 ? 1 : 0); ++dy)
            for (int dx = -1; dx <= (dz < 0 || dy < 0 ? 1 : -1); ++dx) {
              const int u = x + dx, v = y + dy, w = z + dz;
              if (u < 0 || v < 0 || w < 0 || u >= p.extent.x || v >= p.extent.y) continue;
              const std::size_t j = p.at(u, v, w);
              if (p.inside[i] != p.inside[j] ||
                  (!p.inside[i] && std::abs(dx) + std::abs(dy) + std::abs(dz) > 1))
                continue;
              sets.join(std::uint32_t(i), std::uint32_t(j));
            }
      }
  return sets;
}

}  // namespace

Topology topology_of(const std::vector<std::uint8_t>& inside, Extent n) {
  require(inside.size() == n.count(), "the number of voxels does not fit the extent");
  const Padded p(inside, n);
  Sets sets = connected(p);
  Topology t;
  for (std::size_t i = 0; i < p.inside.size(); ++i) {
    const bool is_root = sets.root(std::uint32_t(i)) == i;
    t.voxels += p.inside[i];
    t.components += p.inside[i] && is_root;
    t.cavities += !p.inside[i] && is_root;
  }
  t.cavities -= 1;  // the outside itself
  t.euler = euler_number(p);
  for (int z = 1; z <= n.z; ++z)
    for (int y = 1; y <= n.y; ++y)
      for (int x = 1; x <= n.x; ++x)
        if ((x == 1 || y == 1 || z == 1 || x == n.x || y == n.y || z == n.z) &&
            p.inside[p.at(x, y, z)])
          t.touches_border = true;
  return t;
}

}  // namespace freeflow
