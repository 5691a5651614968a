// Private: see signed_distance.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>
#include <freeflow/core/views.h>
#include <freeflow/denoise/signed_distance.h>

namespace freeflow {

inline constexpr float no_surface = 3e38f;

/// Voxel sides in any unit, by axis.
struct Sides {
  float of[3] = {1, 1, 1};
};

/// Finds the seeds. On every axis the nearer of the two cuts at d_a; the surface is the plane
/// through the cuts. Its normal n is the image's gradient where that agrees with the cuts (each
/// then says n_a d_a, and they are averaged by n_a^2), else that of the plane with the intercepts
/// d_a, at (sum 1 / d_a^2)^(-1/2).
struct SeedBody {
  VolumeView<const float> image;
  float iso;
  bool inside_above;
  Sides sides;
  SurfaceSeed* seed;

  FREEFLOW_HD bool is_inside(float v) const { return v == v && (v > iso) == inside_above; }

  /// Signed distance to the nearer cut of an axis, 0 where there is none.
  FREEFLOW_HD float cut(float centre, float before, float after, bool has_before, bool has_after,
                        float side) const {
    float nearest = 0;
    for (int k = 0; k < 2; ++k) {
      const float value = k == 0 ? before : after;
      if (!(k == 0 ? has_before : has_after) || is_inside(value) == is_inside(centre)) continue;
      // NaN where either has no value: the middle then
      const float part = (iso - centre) / (value - centre);
      const float d = side * (part >= 0 && part <= 1 ? (part > 1e-4f ? part : 1e-4f) : 0.5f);
      if (nearest == 0 || d < fabsf(nearest)) nearest = k == 0 ? -d : d;
    }
    return nearest;
  }

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const int at[3] = {x, y, z};
    const std::size_t step[3] = {1, std::size_t(image.extent.x),
                                 std::size_t(image.extent.x) * image.extent.y};
    const std::size_t i = image.offset(x, y, z);
    const float centre = image.data[i];
    float cuts[3], gradient[3], inverse = 0, square = 0;
    for (int a = 0; a < 3; ++a) {
      const bool has_before = at[a] > 0, has_after = at[a] + 1 < image.extent[a];
      const float before = has_before ? image.data[i - step[a]] : centre,
                  after = has_after ? image.data[i + step[a]] : centre;
      cuts[a] = cut(centre, before, after, has_before, has_after, sides.of[a]);
      if (cuts[a] != 0) inverse = fma_(1 / cuts[a], 1 / cuts[a], inverse);
      gradient[a] =
          (after - before) /
          (sides.of[a] * float(int(has_before) + int(has_after) + int(!has_before && !has_after)));
      square = fma_(gradient[a], gradient[a], square);
    }
    SurfaceSeed s{{0, 0, 0}, no_surface};
    if (inverse > 0) {
      s = by_gradient(cuts, gradient, square, is_inside(centre));
      if (!(s.distance < no_surface)) {
        s.distance = 1 / sqrtf(inverse);
        for (int a = 0; a < 3; ++a) s.normal[a] = cuts[a] != 0 ? s.distance / cuts[a] : 0.0f;
      }
    }
    seed[i] = s;
  }

  /// No distance where the gradient does not point through the cuts (thin sheets, single voxels,
  /// values that are missing).
  FREEFLOW_HD SurfaceSeed by_gradient(const float (&cuts)[3], const float (&gradient)[3],
                                      float square, bool from_inside) const {
    SurfaceSeed s{{0, 0, 0}, no_surface};
    if (!(square > 0 && square < no_surface)) return s;
    const float scale = (from_inside == inside_above ? -1.0f : 1.0f) / sqrtf(square);
    float weight = 0, sum = 0;
    for (int a = 0; a < 3; ++a) {
      s.normal[a] = scale * gradient[a];
      if (cuts[a] == 0) continue;
      const float n2 = s.normal[a] * s.normal[a], d = s.normal[a] * cuts[a];
      if (d <= 0) return {{0, 0, 0}, no_surface};
      weight += n2;
      sum = fma_(n2, d, sum);
    }
    if (weight > 0.05f) s.distance = sum / weight;
    return s;
  }
};

struct SeedCountBody : SumBody {
  const SurfaceSeed* seed;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    return seed[i].distance < no_surface ? 1 : 0;
  }
};

/// Pass along x: the nearest seed of the same row, as the voxel's number; -1 where there is none.
/// Runs over (y, z).
struct NearestInRowBody {
  const SurfaceSeed* seed;
  Extent extent;
  std::int32_t* nearest;
  FREEFLOW_HD void operator()(int y, int z, int) const {
    const std::int32_t row = std::int32_t((std::size_t(z) * extent.y + y) * extent.x);
    std::int32_t last = -1;
    for (int x = 0; x < extent.x; ++x) {
      if (seed[row + x].distance < no_surface) last = row + x;
      nearest[row + x] = last;
    }
    last = -1;
    for (int x = extent.x - 1; x >= 0; --x) {
      if (seed[row + x].distance < no_surface) last = row + x;
      const std::int32_t left = nearest[row + x];
      if (last >= 0 && (left < 0 || last - (row + x) < row + x - left)) nearest[row + x] = last;
    }
  }
};

/// Pass along y (axis 1) or z (axis 2): the lower envelope of the parabolas of what the passes
/// before found. Runs over the lines.
struct EnvelopeBody {
  const std::int32_t* found;
  Extent extent;
  Sides sides;
  int axis;
  std::int32_t* nearest;
  std::int32_t* site;  // scratch: the envelope's parabolas
  double* from;        // scratch: where each begins

  /// Square of the seed's distance in the axes before this one.
  FREEFLOW_HD double cost(std::int32_t seed, int x, int y) const {
    const double dx = double(sides.of[0]) * double(seed % extent.x - x);
    const double dy =
        axis == 2 ? double(sides.of[1]) * double(seed / extent.x % extent.y - y) : 0.0;
    return dx * dx + dy * dy;
  }

  FREEFLOW_HD void operator()(int x, int other, int) const {
    const int length = axis == 1 ? extent.y : extent.z, y = axis == 1 ? 0 : other;
    const std::size_t step = axis == 1 ? std::size_t(extent.x) : std::size_t(extent.x) * extent.y;
    const std::size_t line =
        (axis == 1 ? std::size_t(other) * extent.x * extent.y : std::size_t(other) * extent.x) + x;
    const double side = sides.of[axis];
    int last = -1;
    for (int q = 0; q < length; ++q) {
      const std::int32_t seed = found[line + q * step];
      if (seed < 0) continue;
      const double p = side * q, height = cost(seed, x, y) + p * p;
      double begin = 0;
      for (; last >= 0; --last) {
        const int v = site[line + last * step];
        const double pv = side * v;
        begin = (height - (cost(found[line + v * step], x, y) + pv * pv)) / (2 * (p - pv));
        if (last == 0 || begin > from[line + last * step]) break;
      }
      ++last;
      site[line + last * step] = q;
      from[line + last * step] = begin;
    }
    int k = 0;
    for (int q = 0; q < length; ++q) {
      while (k < last && from[line + (k + 1) * step] < side * q) ++k;
      nearest[line + q * step] = last < 0 ? -1 : found[line + site[line + k * step] * step];
    }
  }
};

/// The distance itself: the least to the pieces of surface around the nearest seed.
struct DistanceBody {
  const SurfaceSeed* seed;
  const std::int32_t* nearest;
  VolumeView<const float> inside;  ///< 1 or 0
  Sides sides;
  float scale;  ///< of the result
  VolumeView<float> distance;

  /// Square of the distance to the disc of a seed; `from` leads from the seed's voxel to the point.
  /// A radius of half a voxel leaves gaps that do not matter, and does not stick out at edges as
  /// one that covers the plane would.
  FREEFLOW_HD float squared_distance(const SurfaceSeed& s, const float (&from)[3]) const {
    float height = -s.distance, square = 0, radius = 0;
    for (int a = 0; a < 3; ++a) {
      const float way = fma_(-s.distance, s.normal[a], from[a]), side = sides.of[a];
      height = fma_(from[a], s.normal[a], height);
      square = fma_(way, way, square);
      radius = fma_(1 - s.normal[a] * s.normal[a], side * side, radius);
    }
    const float along = square - height * height,
                excess = (along > 0 ? sqrtf(along) : 0.0f) - 0.36f * sqrtf(radius);
    return excess > 0 ? fma_(excess, excess, height * height) : height * height;
  }

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = distance.extent;
    const std::size_t i = distance.offset(x, y, z);
    const std::int32_t found = nearest[i];
    const int sx = found % n.x, sy = found / n.x % n.y, sz = found / n.x / n.y;
    const int reach = abs(sx - x) <= 8 && abs(sy - y) <= 8 && abs(sz - z) <= 8 ? 2 : 1;
    float least = no_surface;
    for (int w = sz - reach; w <= sz + reach; ++w)
      for (int v = sy - reach; v <= sy + reach; ++v)
        for (int u = sx - reach; u <= sx + reach; ++u) {
          if (u < 0 || v < 0 || w < 0 || u >= n.x || v >= n.y || w >= n.z) continue;
          const SurfaceSeed s = seed[distance.offset(u, v, w)];
          if (!(s.distance < no_surface)) continue;
          const float from[3] = {sides.of[0] * float(x - u), sides.of[1] * float(y - v),
                                 sides.of[2] * float(z - w)};
          const float d = squared_distance(s, from);
          if (d < least) least = d;
        }
    const float d = scale * sqrtf(least);
    distance.data[i] = inside.data[i] > 0.5f ? -d : d;
  }
};

/// 1 where SeedBody sees the inside.
struct InsideBody {
  SeedBody source;
  VolumeView<float> inside;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t i = inside.offset(x, y, z);
    inside.data[i] = source.is_inside(source.image.data[i]) ? 1.0f : 0.0f;
  }
};

}  // namespace freeflow
