#include <freeflow/registration/levels/masked_background.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>

namespace freeflow {

namespace {

using Place = std::array<int, 3>;

/// A flag for each voxel of a grid.
class Flags {
 public:
  Flags(const Extent& n, std::vector<std::uint8_t> flags) : n_(n), flags_(std::move(flags)) {}

  std::uint8_t& operator()(int x, int y, int z) { return flags_[n_.offset(x, y, z)]; }
  bool has(int x, int y, int z) const {
    return x >= 0 && y >= 0 && z >= 0 && x < n_.x && y < n_.y && z < n_.z &&
           flags_[n_.offset(x, y, z)] != 0;
  }
  bool has_neighbour(int x, int y, int z) const {
    return has(x - 1, y, z) || has(x + 1, y, z) || has(x, y - 1, z) || has(x, y + 1, z) ||
           has(x, y, z - 1) || has(x, y, z + 1);
  }
  bool is_border(int x, int y, int z) const {
    return x == 0 || y == 0 || z == 0 || x == n_.x - 1 || y == n_.y - 1 || z == n_.z - 1;
  }
  const Extent& extent() const { return n_; }
  std::vector<std::uint8_t> take() { return std::move(flags_); }

 private:
  Extent n_;
  std::vector<std::uint8_t> flags_;
};

bool border_has_gaps(const Extent& n, const float* voxels) {
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y) {
      const bool face = z == 0 || z == n.z - 1 || y == 0 || y == n.y - 1;
      const int step = face ? 1 : std::max(1, n.x - 1);
      for (int x = 0; x < n.x; x += step)
        if (!std::isfinite(voxels[n.offset(x, y, z)])) return true;
    }
  return false;
}

/// One pass over the grid, forward or backward, that carries the flag on over voxels without a
/// value. Whether anything changed.
bool spread(Flags& outside, const float* voxels, bool forward) {
  const Extent n = outside.extent();
  bool changed = false;
  const auto at = [forward](int i, int size) { return forward ? i : size - 1 - i; };
  for (int k = 0; k < n.z; ++k)
    for (int j = 0; j < n.y; ++j)
      for (int i = 0; i < n.x; ++i) {
        const int x = at(i, n.x), y = at(j, n.y), z = at(k, n.z);
        if (std::isfinite(voxels[n.offset(x, y, z)]) || outside.has(x, y, z)) continue;
        if (!outside.is_border(x, y, z) && !outside.has_neighbour(x, y, z)) continue;
        outside(x, y, z) = 1;
        changed = true;
      }
  return changed;
}

/// The voxels of the inside beside the outside.
std::vector<Place> rim_of(const Flags& outside) {
  const Extent n = outside.extent();
  std::vector<Place> rim;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x)
        if (!outside.has(x, y, z) && outside.has_neighbour(x, y, z)) rim.push_back({x, y, z});
  return rim;
}

/// Whether a place and all around it lie outside: of a voxel's rounding says nothing. Across two
/// slices nothing is around it.
bool clearly_outside(const Flags& outside, const Place& p) {
  const Extent n = outside.extent();
  const int rx = n.x > 2, ry = n.y > 2, rz = n.z > 2;
  for (int z = -rz; z <= rz; ++z)
    for (int y = -ry; y <= ry; ++y)
      for (int x = -rx; x <= rx; ++x)
        if (!outside.has(p[0] + x, p[1] + y, p[2] + z)) return false;
  return true;
}

/// Whether a line between two places of the rim leaves the inside.
bool leaves(const Flags& outside, const Place& from, const Place& to) {
  constexpr int parts = 8;
  for (int i = 1; i < parts; ++i) {
    Place p;
    for (std::size_t a = 0; a < 3; ++a)
      p[a] = (2 * (from[a] * (parts - i) + to[a] * i) + parts) / (2 * parts);  // rounded
    if (clearly_outside(outside, p)) return true;
  }
  return false;
}

/// By lines between places of its rim drawn at random: none leaves a box or a cylinder, 1 in 100
/// one that was bent by a deformation, 2 and more a head, a brain or a lung on grids of 3 mm and
/// finer.
bool is_convex(const Flags& outside) {
  constexpr int lines = 20000;
  constexpr double most = 0.012;
  const std::vector<Place> rim = rim_of(outside);
  if (rim.empty()) return true;
  std::minstd_rand random;  // the same numbers everywhere
  const auto draw = [&] { return rim[random() % rim.size()]; };
  int leaving = 0;
  for (int i = 0; i < lines; ++i) {
    const Place from = draw(), to = draw();
    leaving += leaves(outside, from, to);
  }
  return leaving < most * lines;
}

}  // namespace

std::vector<std::uint8_t> masked_background(const Extent& n, const float* voxels) {
  if (!border_has_gaps(n, voxels)) return {};
  Flags outside(n, std::vector<std::uint8_t>(n.count()));
  for (bool forward = true; spread(outside, voxels, forward);) forward = !forward;
  return is_convex(outside) ? std::vector<std::uint8_t>() : outside.take();
}

}  // namespace freeflow
