// Private: the mathematics of unfold.h.
#pragma once

#include <atomic>

#include <freeflow/deform/field_operations_body.h>

namespace freeflow {

/// The grid in blocks of seven voxels along each axis, worked on row by row. A voxel and its six
/// neighbours, its cross, hold all that its corners read and move. The crosses of one colour,
/// (x + 2 y + 3 z) mod 7, are disjoint, and every row of a block has one voxel of each colour:
/// those of one colour can be worked on in place and at once, in any order with the same result.
struct ListedBlocks {
  static constexpr int side = 7, rows = side * side;
  const int* list;
  Extent extent;  // voxels

  static FREEFLOW_HD Extent blocks_of(Extent n) {
    return {(n.x + side - 1) / side, (n.y + side - 1) / side, (n.z + side - 1) / side};
  }
  /// Of all blocks together; a row is offset(x / side, y, z) of this.
  static FREEFLOW_HD Extent rows_of(Extent n) { return {(n.x + side - 1) / side, n.y, n.z}; }

  /// Where row `i` of the listed blocks' rows lies, `at[0]` in rows; false beyond the grid.
  FREEFLOW_HD bool find(int i, int (&at)[3]) const {
    const Extent n = blocks_of(extent);
    const int nth = i / rows, row = i - nth * rows, block = list[nth], line = block / n.x;
    at[0] = block - line * n.x;
    at[1] = line % n.y * side + row % side;
    at[2] = line / n.y * side + row / side;
    return at[1] < extent.y && at[2] < extent.z;
  }
  FREEFLOW_HD static int of_colour(int colour, const int (&at)[3]) {
    return at[0] * side + (colour + 5 * (at[1] % side) + 4 * (at[2] % side)) % side;
  }
};

/// The last sweep in which a voxel of a row moved its cross; of all rows.
struct Stamps {
  int* of;
  Extent rows;
  /// Whether a corner of row `at` may have changed since: its voxels are two steps or fewer away.
  FREEFLOW_HD bool changed_since(int sweep, const int (&at)[3]) const {
    for (int k = -2; k <= 2; ++k)
      for (int j = -2; j <= 2; ++j) {
        const int steps = (k < 0 ? -k : k) + (j < 0 ? -j : j), y = at[1] + j, z = at[2] + k;
        if (steps > 2 || y < 0 || z < 0 || y >= rows.y || z >= rows.z) continue;
        const int wide = steps < 2 ? 1 : 0;
        for (int x = at[0] - wide; x <= at[0] + wide; ++x)
          if (x >= 0 && x < rows.x && of[rows.offset(x, y, z)] >= sweep) return true;
      }
    return false;
  }
};

/// What is known of a voxel's corners since its cross last changed: a settled one needs no second
/// look, as all its determinants are at the target or above.
enum class Corners : unsigned char { unknown, settled, folded };

struct KnownCorners {
  VolumeView<Corners> of;
  float target;

  FREEFLOW_HD bool settled(int x, int y, int z) const { return of(x, y, z) == Corners::settled; }
  /// Notes that the smallest determinant is at the target or above, where it is.
  FREEFLOW_HD void note(float determinant, int x, int y, int z) const {
    if (determinant >= target) of(x, y, z) = Corners::settled;
  }
  /// After voxel `at` moved its cross: of all whose cross shares a voxel with it. Those that work
  /// beside it may forget the same ones, and look at none of them.
  FREEFLOW_HD void forget_around(const int (&at)[3]) const {
    const Extent n = of.extent;
    for (int k = -2; k <= 2; ++k)
      for (int j = -2; j <= 2; ++j) {
        const int wide = 2 - (k < 0 ? -k : k) - (j < 0 ? -j : j), y = at[1] + j, z = at[2] + k;
        if (wide < 0 || y < 0 || z < 0 || y >= n.y || z >= n.z) continue;
        for (int x = at[0] - wide; x <= at[0] + wide; ++x)
          if (x >= 0 && x < n.x) forget(of(x, y, z));
      }
  }

 private:
  static FREEFLOW_HD void forget(Corners& voxel) {
#ifdef __CUDA_ARCH__
    voxel = Corners::unknown;
#else
    std::atomic_ref(voxel).store(Corners::unknown, std::memory_order_relaxed);
#endif
  }
};

/// The first look at every voxel.
struct FirstLookBody {
  FieldView<const float> u;
  KnownCorners known;
  float bound;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const float determinant = corner_jacobian_at(u, x, y, z);
    known.of(x, y, z) = determinant < bound           ? Corners::folded
                        : determinant >= known.target ? Corners::settled
                                                      : Corners::unknown;
  }
};

/// The folds it found in each row.
struct CountFirstBody {
  VolumeView<const Corners> known;
  VolumeView<unsigned char> folds;  // per row
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    int found = 0;
    for (int i = x * ListedBlocks::side; i < (x + 1) * ListedBlocks::side && i < known.extent.x;
         ++i)
      if (known(i, y, z) == Corners::folded) ++found;
    folds(x, y, z) = static_cast<unsigned char>(found);
  }
};

/// Voxels below the bound anew where something changed in or after `sweep`.
struct CountRowsBody {
  FieldView<const float> u;
  ListedBlocks blocks;
  Stamps stamps;
  KnownCorners known;
  VolumeView<unsigned char> folds;  // per row
  int sweep;
  float bound;
  FREEFLOW_HD void operator()(int i, int, int) const {
    int at[3];
    if (!blocks.find(i, at) || !stamps.changed_since(sweep, at)) return;
    int found = 0;
    for (int x = at[0] * ListedBlocks::side; x < (at[0] + 1) * ListedBlocks::side && x < u.extent.x;
         ++x) {
      if (known.settled(x, at[1], at[2])) continue;
      const float determinant = corner_jacobian_at(u, x, at[1], at[2]);
      if (determinant < bound) ++found;
      known.note(determinant, x, at[1], at[2]);
    }
    folds(at[0], at[1], at[2]) = static_cast<unsigned char>(found);
  }
};

/// The same per listed block; rows with folds are stamped, so that the next sweep looks at them.
struct CountBlocksBody {
  ListedBlocks blocks;
  Stamps stamps;
  VolumeView<const unsigned char> folds;  // per row
  int* found;
  int sweep;
  FREEFLOW_HD void operator()(int i, int, int) const {
    int sum = 0;
    for (int row = 0; row < ListedBlocks::rows; ++row) {
      int at[3];
      if (!blocks.find(i * ListedBlocks::rows + row, at)) continue;
      const int now = folds(at[0], at[1], at[2]);
      if (now > 0) stamps.of[folds.offset(at[0], at[1], at[2])] = sweep;
      sum += now;
    }
    found[i] = sum;
  }
};

/// Which listed rows a sweep has to look at.
struct PlanBody {
  ListedBlocks blocks;
  Stamps stamps;
  unsigned char* planned;  // per listed row
  int sweep;
  FREEFLOW_HD void operator()(int i, int, int) const {
    int at[3];
    planned[i] = blocks.find(i, at) && stamps.changed_since(sweep - 1, at) ? 1 : 0;
  }
};

/// What the two kinds of sweep share: planned rows' voxels of one colour, below a determinant.
struct Sweep {
  FieldView<float> u;
  ListedBlocks blocks;
  Stamps stamps;
  KnownCorners known;
  const unsigned char* planned;
  int sweep, colour;
  float below;
  /// The voxel of row i that is to be moved, and stamps it; false if none is.
  FREEFLOW_HD bool take(int i, int (&at)[3]) const {
    if (!planned[i] || !blocks.find(i, at)) return false;
    const std::size_t row = stamps.rows.offset(at[0], at[1], at[2]);
    at[0] = ListedBlocks::of_colour(colour, at);
    if (at[0] >= u.extent.x) return false;
    if (below <= known.target && known.settled(at[0], at[1], at[2])) return false;
    const float determinant = corner_jacobian_at(u, at[0], at[1], at[2]);
    if (!(determinant < below)) {
      known.note(determinant, at[0], at[1], at[2]);
      return false;
    }
    known.forget_around(at);
    stamps.of[row] = sweep;
    return true;
  }
};

/// One corner of a voxel: D = det(d_x, d_y, d_z) of the forward or backward differences of x + u,
/// towards the neighbours on `side` (-1 or 1), which must exist; 0 along an axis of one voxel.
struct Corner {
  float d[3][3];  // axis, component

  FREEFLOW_HD Corner(FieldView<const float> u, std::size_t at, const std::ptrdiff_t (&step)[3],
                     const int (&side)[3]) {
    for (int c = 0; c < 3; ++c) {
      const float* p = u.plane(c).data + at;
      for (int axis = 0; axis < 3; ++axis)
        d[axis][c] = float(side[axis]) * (p[step[axis]] - p[0]) + (c == axis ? 1.0f : 0.0f);
    }
  }
  /// d D / d d_axis: the other two differences' cross product.
  FREEFLOW_HD void gradient(int axis, float (&g)[3]) const {
    const float *const a = d[(axis + 1) % 3], *const b = d[(axis + 2) % 3];
    g[0] = a[1] * b[2] - a[2] * b[1];
    g[1] = a[2] * b[0] - a[0] * b[2];
    g[2] = a[0] * b[1] - a[1] * b[0];
  }
};

/// Each corner below `target`, one after the other, moves its four voxels i by
///   (target - D) grad_i D / sum_j |grad_j D|^2,
/// which takes it there to first order while they move as little as possible (the position-based
/// dynamics of Mueller 2007, with volumes as constraints), and `beyond` times as far, since others
/// pull it back (successive over-relaxation).
struct OpenCornersBody {
  static constexpr float beyond = 1.6f;
  Sweep sweep;

  FREEFLOW_HD void open(std::size_t at, const std::ptrdiff_t (&step)[3],
                        const int (&side)[3]) const {
    const float target = sweep.below;
    const Corner corner(sweep.u, at, step, side);
    float g[4][3] = {};  // of the neighbour along each axis, and of the voxel
    for (int axis = 0; axis < 3; ++axis) corner.gradient(axis, g[axis]);
    const float determinant =
        fma_(corner.d[0][0], g[0][0], fma_(corner.d[0][1], g[0][1], corner.d[0][2] * g[0][2]));
    if (!(determinant < target)) return;
    float squared = 1e-6f;
    for (int c = 0; c < 3; ++c) {
      for (int axis = 0; axis < 3; ++axis) {
        g[axis][c] *= float(side[axis]);
        g[3][c] -= g[axis][c];
        squared = fma_(g[axis][c], g[axis][c], squared);
      }
      squared = fma_(g[3][c], g[3][c], squared);
    }
    const float share = beyond * (target - determinant) / squared;
    for (int c = 0; c < 3; ++c) {
      float* p = sweep.u.plane(c).data + at;
      for (int axis = 0; axis < 3; ++axis)
        if (side[axis] != 0) p[step[axis]] = fma_(share, g[axis][c], p[step[axis]]);
      p[0] = fma_(share, g[3][c], p[0]);
    }
  }

  FREEFLOW_HD void operator()(int i, int, int) const {
    int at[3];
    if (!sweep.take(i, at)) return;
    const Extent n = sweep.u.extent;
    const std::ptrdiff_t stride[3] = {1, n.x, std::ptrdiff_t(n.x) * n.y};
    for (int corner = 0; corner < 8; ++corner) {
      int side[3];
      std::ptrdiff_t step[3];
      bool exists = true;
      for (int axis = 0; axis < 3; ++axis) {
        const bool up = corner >> axis & 1;
        side[axis] = n[axis] == 1 ? 0 : up ? 1 : -1;
        step[axis] = side[axis] * stride[axis];
        exists = exists && (n[axis] == 1 ? up : up ? at[axis] + 1 < n[axis] : at[axis] > 0);
      }
      if (exists) open(n.offset(at[0], at[1], at[2]), step, side);
    }
  }
};

/// A voxel below the bound goes halfway to the mean of its neighbours, six or, at the border,
/// fewer.
struct AverageBody {
  Sweep sweep;
  FREEFLOW_HD void operator()(int i, int, int) const {
    int at[3];
    if (!sweep.take(i, at)) return;
    const Extent n = sweep.u.extent;
    const std::size_t stride[3] = {1, std::size_t(n.x), std::size_t(n.x) * n.y};
    for (int c = 0; c < 3; ++c) {
      float* p = sweep.u.plane(c).data + n.offset(at[0], at[1], at[2]);
      float sum = 0, count = 0;
      for (int axis = 0; axis < 3; ++axis) {
        if (at[axis] > 0) sum += *(p - stride[axis]), count += 1.0f;
        if (at[axis] + 1 < n[axis]) sum += p[stride[axis]], count += 1.0f;
      }
      if (count > 0) *p = 0.5f * (*p + sum / count);
    }
  }
};

}  // namespace freeflow
