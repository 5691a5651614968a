// Private: interpolation at a continuous voxel position, once for CPU and CUDA. A sample has a
// value within half a voxel of the grid's outermost centres (ITK's buffer), where the position is
// clamped to them; elsewhere it is NaN.
#pragma once

#include <cmath>

#include <freeflow/core/portable_math.h>
#include <freeflow/core/views.h>

namespace freeflow {

FREEFLOW_HD Vec3f map_point(const PointMap& map, float x, float y, float z) {
  const auto& m = map.m;
  return {fma_(m[0][0], x, fma_(m[0][1], y, fma_(m[0][2], z, m[0][3]))),
          fma_(m[1][0], x, fma_(m[1][1], y, fma_(m[1][2], z, m[1][3]))),
          fma_(m[2][0], x, fma_(m[2][1], y, fma_(m[2][2], z, m[2][3])))};
}

FREEFLOW_HD float lerp(float a, float b, float t) { return fma_(t, b - a, a); }

/// A position along one axis: the cell [low, low + step], the fraction in it, and whether the clamp
/// left it alone.
struct CellOnAxis {
  int low, step;
  float fraction, slope;
};

FREEFLOW_HD CellOnAxis locate(float p, int n) {
  const float last = float(n - 1);
  float c = p > 0.0f ? p : 0.0f;
  c = c < last ? c : last;
  const int floor_c = int(c), largest = n > 1 ? n - 2 : 0;
  const int low = floor_c < largest ? floor_c : largest;
  return {low, n > 1 ? 1 : 0, c - float(low), c == p ? 1.0f : 0.0f};
}

FREEFLOW_HD bool has_value(const Vec3f& p, Extent n) {
  return (p.x >= -0.5f) & (p.x <= float(n.x) - 0.5f) & (p.y >= -0.5f) & (p.y <= float(n.y) - 0.5f) &
         (p.z >= -0.5f) & (p.z <= float(n.z) - 0.5f);
}

/// The eight voxels around a position.
struct Cell {
  float v000, v100, v010, v110, v001, v101, v011, v111;
};

FREEFLOW_HD Cell fetch_cell(const float* data, Extent n, const CellOnAxis& cx, const CellOnAxis& cy,
                            const CellOnAxis& cz) {
  const int dx = cx.step, dy = cy.step * n.x, dz = cz.step * n.x * n.y;
  const float* const v = data + n.offset(cx.low, cy.low, cz.low);
  return {v[0], v[dx], v[dy], v[dy + dx], v[dz], v[dz + dx], v[dz + dy], v[dz + dy + dx]};
}

FREEFLOW_HD float interpolate(const Cell& c, float tx, float ty, float tz) {
  const float y0 = lerp(lerp(c.v000, c.v100, tx), lerp(c.v010, c.v110, tx), ty);
  const float y1 = lerp(lerp(c.v001, c.v101, tx), lerp(c.v011, c.v111, tx), ty);
  return lerp(y0, y1, tz);
}

#ifdef __CUDA_ARCH__
/// The cell of a position that no clamp touches, as most are: the same bits with fewer
/// instructions. The CPU has no use for it, since a branch keeps the loop from being vectorised.
struct InnerCell {
  bool inside;
  float tx, ty, tz;
  const float* corner;
  int row, slice;

  __device__ InnerCell(VolumeView<const float> image, const Vec3f& p) {
    const Extent n = image.extent;
    const int x = __float2int_rd(p.x), y = __float2int_rd(p.y), z = __float2int_rd(p.z);
    inside = (unsigned(x) < unsigned(n.x - 1)) & (unsigned(y) < unsigned(n.y - 1)) &
             (unsigned(z) < unsigned(n.z - 1));
    tx = p.x - float(x);
    ty = p.y - float(y);
    tz = p.z - float(z);
    row = n.x;
    slice = n.x * n.y;
    corner = image.data + n.offset(x, y, z);
  }
  __device__ Cell fetch() const {
    const float *c01 = corner + row, *c10 = corner + slice, *c11 = c10 + row;
    return {corner[0], corner[1], c01[0], c01[1], c10[0], c10[1], c11[0], c11[1]};
  }
};
#endif

/// Trilinear value; NaN outside or where a voxel of the cell is NaN.
FREEFLOW_HD float sample_linear(VolumeView<const float> image, const Vec3f& p) {
#ifdef __CUDA_ARCH__
  const InnerCell inner(image, p);
  if (inner.inside) return interpolate(inner.fetch(), inner.tx, inner.ty, inner.tz);
#endif
  const CellOnAxis cx = locate(p.x, image.extent.x), cy = locate(p.y, image.extent.y),
                   cz = locate(p.z, image.extent.z);
  const float value = interpolate(fetch_cell(image.data, image.extent, cx, cy, cz), cx.fraction,
                                  cy.fraction, cz.fraction);
  return has_value(p, image.extent) ? value : NAN;
}

struct SampleWithGradient {
  float value;
  Vec3f gradient;
};

/// Trilinear value in a cell and its exact derivative per voxel; 0 along an axis on which the
/// position was clamped.
FREEFLOW_HD SampleWithGradient interpolate_with_gradient(const Cell& c, const CellOnAxis& cx,
                                                         const CellOnAxis& cy,
                                                         const CellOnAxis& cz) {
  const float d00 = c.v100 - c.v000, d10 = c.v110 - c.v010, d01 = c.v101 - c.v001,
              d11 = c.v111 - c.v011;
  const float x00 = fma_(cx.fraction, d00, c.v000), x10 = fma_(cx.fraction, d10, c.v010);
  const float x01 = fma_(cx.fraction, d01, c.v001), x11 = fma_(cx.fraction, d11, c.v011);
  const float e0 = x10 - x00, e1 = x11 - x01;
  const float y0 = fma_(cy.fraction, e0, x00), y1 = fma_(cy.fraction, e1, x01);
  const float gx =
      lerp(lerp(d00, d10, cy.fraction), lerp(d01, d11, cy.fraction), cz.fraction) * cx.slope;
  const float gy = lerp(e0, e1, cz.fraction) * cy.slope;
  const float gz = (y1 - y0) * cz.slope;
  return {lerp(y0, y1, cz.fraction), {gx, gy, gz}};
}

/// Trilinear value (NaN outside or where a voxel of the cell is NaN) and its derivative.
FREEFLOW_HD SampleWithGradient sample_linear_with_gradient(VolumeView<const float> image,
                                                           const Vec3f& p) {
#ifdef __CUDA_ARCH__
  const InnerCell inner(image, p);
  if (inner.inside)
    return interpolate_with_gradient(inner.fetch(), {0, 1, inner.tx, 1.0f}, {0, 1, inner.ty, 1.0f},
                                     {0, 1, inner.tz, 1.0f});
#endif
  const CellOnAxis cx = locate(p.x, image.extent.x), cy = locate(p.y, image.extent.y),
                   cz = locate(p.z, image.extent.z);
  SampleWithGradient s =
      interpolate_with_gradient(fetch_cell(image.data, image.extent, cx, cy, cz), cx, cy, cz);
  s.value = has_value(p, image.extent) ? s.value : NAN;
  return s;
}

/// Trilinear value of one component of a field, the field extended by its border values.
FREEFLOW_HD float sample_linear_clamped(VolumeView<const float> plane, const Vec3f& p) {
  const CellOnAxis cx = locate(p.x, plane.extent.x), cy = locate(p.y, plane.extent.y),
                   cz = locate(p.z, plane.extent.z);
  return interpolate(fetch_cell(plane.data, plane.extent, cx, cy, cz), cx.fraction, cy.fraction,
                     cz.fraction);
}

FREEFLOW_HD int clamp_index(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

FREEFLOW_HD float sample_nearest(VolumeView<const float> image, const Vec3f& p) {
  const int x = clamp_index(int(floorf(p.x + 0.5f)), image.extent.x),
            y = clamp_index(int(floorf(p.y + 0.5f)), image.extent.y),
            z = clamp_index(int(floorf(p.z + 0.5f)), image.extent.z);
  return has_value(p, image.extent) ? image(x, y, z) : NAN;
}

/// The trilinear value where voxels of the cell are missing (NaN or infinite): the mean of the
/// others by their weights, as if the image went on level for half a voxel, which is what it does
/// at the grid's border. NaN where the nearest voxel is missing or there is none.
FREEFLOW_HD float sample_linear_beside_holes(VolumeView<const float> image, const Vec3f& p) {
  if (!is_finite(sample_nearest(image, p))) return NAN;
  const CellOnAxis cx = locate(p.x, image.extent.x), cy = locate(p.y, image.extent.y),
                   cz = locate(p.z, image.extent.z);
  float sum = 0, weights = 0;
  for (int corner = 0; corner < 8; ++corner) {
    const int i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
    const float v = image(cx.low + i * cx.step, cy.low + j * cy.step, cz.low + k * cz.step);
    const float weight = (i ? cx.fraction : 1.0f - cx.fraction) *
                         (j ? cy.fraction : 1.0f - cy.fraction) *
                         (k ? cz.fraction : 1.0f - cz.fraction);
    if (!is_finite(v)) continue;
    sum = fma_(weight, v, sum);
    weights += weight;
  }
  return sum / weights;
}

}  // namespace freeflow
