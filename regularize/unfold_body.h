// Private: the mathematics of unfold.h.
#pragma once

#include <freeflow/deform/field_operations_body.h>

namespace freeflow {

/// 1 where a corner's determinant is below the bound, else 0.
struct FoldMarkBody {
  FieldView<const float> u;
  VolumeView<unsigned char> marks;
  float bound;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    marks(x, y, z) = corner_jacobian_at(u, x, y, z) < bound ? 1 : 0;
  }
};

/// Where listed voxel i lies.
struct ListedVoxels {
  const int* offsets;
  Extent extent;
  FREEFLOW_HD void position(int i, int (&at)[3]) const {
    const int rows = offsets[i] / extent.x;
    at[0] = offsets[i] - rows * extent.x;
    at[2] = rows / extent.y;
    at[1] = rows - at[2] * extent.y;
  }
};

/// For listed voxels a mark against the bound in the list, and against the target in the volume.
struct ListedFoldMarkBody {
  FieldView<const float> u;
  ListedVoxels voxels;
  unsigned char* listed;
  VolumeView<unsigned char> low;
  float bound, target;
  FREEFLOW_HD void operator()(int i, int, int) const {
    int at[3];
    voxels.position(i, at);
    const float least = corner_jacobian_at(u, at[0], at[1], at[2]);
    listed[i] = least < bound ? 1 : 0;
    low.data[voxels.offsets[i]] = least < target ? 1 : 0;
  }
};

/// One corner of a voxel: D = det(d_x, d_y, d_z) of the forward or backward differences of x + u,
/// towards the neighbours on `side` (-1 or 1 per axis), which must exist.
struct Corner {
  float d[3][3];  // axis, component

  FREEFLOW_HD Corner(FieldView<const float> u, const int (&at)[3], const int (&side)[3]) {
    const Extent n = u.extent;
    const std::ptrdiff_t stride[3] = {1, n.x, std::ptrdiff_t(n.x) * n.y};
    for (int c = 0; c < 3; ++c) {
      const float* p = u.plane(c).data + n.offset(at[0], at[1], at[2]);
      for (int axis = 0; axis < 3; ++axis)
        d[axis][c] =
            float(side[axis]) * (p[side[axis] * stride[axis]] - p[0]) + (c == axis ? 1.0f : 0.0f);
    }
  }
  /// d D / d d_axis: the other two differences' cross product.
  FREEFLOW_HD void gradient(int axis, float (&g)[3]) const {
    const float *const a = d[(axis + 1) % 3], *const b = d[(axis + 2) % 3];
    g[0] = a[1] * b[2] - a[2] * b[1];
    g[1] = a[2] * b[0] - a[0] * b[2];
    g[2] = a[0] * b[1] - a[1] * b[0];
  }
  FREEFLOW_HD float determinant() const {
    float g[3];
    gradient(0, g);
    return fma_(d[0][0], g[0], fma_(d[0][1], g[1], d[0][2] * g[2]));
  }
};

/// Each corner below `target` asks its four voxels i to move by
///   (target - D) grad_i D / sum_j |grad_j D|^2,
/// which alone would take it there while they move as little as possible (the position-based
/// dynamics of Mueller 2007, with volumes as constraints). A listed voxel goes `gain` times the
/// mean of what it is asked.
struct OpenCornersBody {
  FieldView<const float> u;
  ListedVoxels voxels;
  VolumeView<const unsigned char> low;  // 1: a corner of the voxel may be below the target
  FieldView<float> moved;               // of the list
  float target, gain;

  struct Wish {
    float sum[3] = {}, count = 0;
  };

  /// `which`: the axis along which the voxel is the corner's neighbour; 3: the corner's own voxel.
  FREEFLOW_HD void ask(const int (&at)[3], const int (&side)[3], int which, Wish& wish) const {
    const Corner corner(u, at, side);
    const float determinant = corner.determinant();
    if (!(determinant < target)) return;
    float squared = 1e-6f, own[3] = {}, mine[3] = {};
    for (int axis = 0; axis < 3; ++axis) {
      float g[3];
      corner.gradient(axis, g);
      for (int c = 0; c < 3; ++c) {
        g[c] *= float(side[axis]);
        squared = fma_(g[c], g[c], squared);
        own[c] -= g[c];
        if (axis == which) mine[c] = g[c];
      }
    }
    for (const float g : own) squared = fma_(g, g, squared);
    const float share = (target - determinant) / squared;
    for (int c = 0; c < 3; ++c)
      wish.sum[c] = fma_(share, which == 3 ? own[c] : mine[c], wish.sum[c]);
    wish.count += 1.0f;
  }

  /// All corners of the voxel `at` that hold the voxel which asks: `from` it along axis `which`.
  FREEFLOW_HD void ask_voxel(const int (&at)[3], int which, int from, Wish& wish) const {
    const Extent n = u.extent;
    if (!low(at[0], at[1], at[2])) return;
    for (int corner = 0; corner < 8; ++corner) {
      const int side[3] = {corner & 1 ? 1 : -1, corner & 2 ? 1 : -1, corner & 4 ? 1 : -1};
      bool holds = true;
      for (int axis = 0; axis < 3; ++axis) {
        const int neighbour = at[axis] + side[axis];
        holds =
            holds && neighbour >= 0 && neighbour < n[axis] && (axis != which || side[axis] != from);
      }
      if (holds) ask(at, side, which, wish);
    }
  }

  FREEFLOW_HD void operator()(int i, int, int) const {
    int at[3];
    voxels.position(i, at);
    Wish wish;
    ask_voxel(at, 3, 0, wish);
    for (int which = 0; which < 3; ++which)
      for (int from = -1; from <= 1; from += 2) {
        int other[3] = {at[0], at[1], at[2]};
        other[which] += from;
        if (other[which] >= 0 && other[which] < u.extent[which])
          ask_voxel(other, which, from, wish);
      }
    const float share = wish.count > 0 ? gain / wish.count : 0.0f;
    for (int c = 0; c < 3; ++c)
      moved.plane(c).data[i] = fma_(share, wish.sum[c], u.plane(c)(at[0], at[1], at[2]));
  }
};

/// Listed voxels go halfway to the mean of their neighbours, six or, at the border, fewer.
struct AverageListedBody {
  FieldView<const float> u;
  ListedVoxels voxels;
  FieldView<float> moved;  // of the list
  FREEFLOW_HD void operator()(int i, int, int) const {
    const Extent n = u.extent;
    const std::size_t stride[3] = {1, std::size_t(n.x), std::size_t(n.x) * n.y};
    int at[3];
    voxels.position(i, at);
    for (int c = 0; c < 3; ++c) {
      const float* p = u.plane(c).data + n.offset(at[0], at[1], at[2]);
      float sum = 0, count = 0;
      for (int axis = 0; axis < 3; ++axis) {
        if (at[axis] > 0) sum += *(p - stride[axis]), count += 1.0f;
        if (at[axis] + 1 < n[axis]) sum += p[stride[axis]], count += 1.0f;
      }
      moved.plane(c).data[i] = count > 0 ? 0.5f * (*p + sum / count) : *p;
    }
  }
};

struct PutListedBody {
  FieldView<const float> moved;
  ListedVoxels voxels;
  FieldView<float> u;
  FREEFLOW_HD void operator()(int i, int, int) const {
    for (int c = 0; c < 3; ++c) u.plane(c).data[voxels.offsets[i]] = moved.plane(c).data[i];
  }
};

}  // namespace freeflow
