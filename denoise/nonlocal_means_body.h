// Private: see nonlocal_means.h.
#pragma once

#include <cmath>
#include <cstdint>

#include <freeflow/core/portable_exp.h>
#include <freeflow/core/reduce.h>
#include <freeflow/core/views.h>
#include <freeflow/denoise/patch_search/distance_body.h>
#include <freeflow/denoise/patch_search/patch_search.h>

namespace freeflow {

/// phi in mean sides.
struct ScaleBody {
  VolumeView<const float> distance;
  float scale;
  VolumeView<float> phi;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    phi(x, y, z) = scale * distance(x, y, z);
  }
};

/// Counts the band's voxels of each row. Runs over (y, z).
struct CountBandBody {
  VolumeView<const float> phi;
  float delta;
  std::int32_t* count;
  FREEFLOW_HD void operator()(int y, int z, int) const {
    std::int32_t n = 0;
    for (int x = 0; x < phi.extent.x; ++x) n += fabsf(phi(x, y, z)) <= delta;
    count[std::size_t(z) * phi.extent.y + y] = n;
  }
};

/// Lists the band's voxels, in voxel order; `begin` says where a row starts.
struct ListBandBody {
  VolumeView<const float> phi;
  float delta;
  const std::int32_t* begin;
  std::int32_t* voxel;
  float* value;
  FREEFLOW_HD void operator()(int y, int z, int) const {
    std::int32_t at = begin[std::size_t(z) * phi.extent.y + y];
    for (int x = 0; x < phi.extent.x; ++x) {
      const std::size_t i = phi.offset(x, y, z);
      if (!(fabsf(phi.data[i]) <= delta)) continue;
      voxel[at] = std::int32_t(i);
      value[at] = phi.data[i];
      ++at;
    }
  }
};

/// Value k of the patch of element i, clamped to +-limit: a distance farther out tells nothing of
/// the surface. Runs over (k, i % 32768, i / 32768).
struct PatchBody {
  VolumeView<const float> phi;
  const std::int32_t* voxel;
  int elements, side, stride;
  float limit;
  float* values;
  static constexpr int rows = 32768;
  FREEFLOW_HD void operator()(int k, int low, int high) const {
    const int i = high * rows + low;
    if (i >= elements) return;
    float value = 0;
    if (k < side * side * side) {
      const Extent n = phi.extent;
      const int v = voxel[i], half = side / 2;
      const int x = clamp(v % n.x + k % side - half, n.x),
                y = clamp(v / n.x % n.y + k / side % side - half, n.y),
                z = clamp(v / n.x / n.y + k / (side * side) - half, n.z);
      const float p = phi(x, y, z);
      value = p < -limit ? -limit : p > limit ? limit : p;
    }
    values[std::size_t(i) * stride + k] = value;
  }
  static FREEFLOW_HD int clamp(int at, int size) { return at < 0 ? 0 : at >= size ? size - 1 : at; }
};

/// Second differences of phi along all three axes at once, their size, beside the surface; -1
/// elsewhere and at the grid's border. Of white noise of variance s^2 they have the variance 6^3
/// s^2; of planes, quadrics and anything that a line sweeps along an axis they have nothing. Runs
/// over the elements.
struct NoiseBody {
  VolumeView<const float> phi;
  const std::int32_t* voxel;
  float* size;
  static constexpr double variance = 216;
  FREEFLOW_HD void operator()(int i, int, int) const {
    const Extent n = phi.extent;
    const int v = voxel[i], x = v % n.x, y = v / n.x % n.y, z = v / n.x / n.y;
    size[i] = -1;
    if (!(fabsf(phi.data[v]) <= 1) || x < 1 || y < 1 || z < 1 || x + 1 >= n.x || y + 1 >= n.y ||
        z + 1 >= n.z)
      return;
    float sum = 0;
    for (int k = 0; k < 27; ++k) {
      const int dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;
      const int weight = (dx == 0 ? -2 : 1) * (dy == 0 ? -2 : 1) * (dz == 0 ? -2 : 1);
      sum = fma_(float(weight), phi(x + dx, y + dy, z + dz), sum);
    }
    size[i] = fabsf(sum);
  }
};

/// Where elements lie, in mean sides.
struct BandGeometry {
  const std::int32_t* voxel;
  Extent extent;
  float side[3];

  FREEFLOW_HD float squared_distance(int i, int j) const {
    const int a = voxel[i], b = voxel[j];
    const int x = a % extent.x - b % extent.x;
    const int y = a / extent.x % extent.y - b / extent.x % extent.y;
    const int z = a / extent.x / extent.y - b / extent.x / extent.y;
    const float dx = side[0] * float(x), dy = side[1] * float(y), dz = side[2] * float(z);
    return fma_(dz, dz, fma_(dy, dy, dx * dx));
  }
};

/// The number of the element in each voxel of the band. Runs over the elements.
struct ElementMapBody {
  const std::int32_t* voxel;
  std::int32_t* element;
  FREEFLOW_HD void operator()(int i, int, int) const { element[voxel[i]] = i + 1; }
};

/// The m most similar within a radius: every voxel of the window is looked at. Runs over the rows
/// of a slab.
struct WindowSearchBody {
  PatchView patches;
  BandGeometry band;
  const std::int32_t* element;  ///< number + 1 of the element in a voxel, 0 for none
  float radius;
  int first;
  SimilarView found;
  FREEFLOW_HD void operator()(int row, int, int) const {
    const int i = first + row, v = band.voxel[i], m = found.neighbours;
    const Extent n = band.extent;
    const int at[3] = {v % n.x, v / n.x % n.y, v / n.x / n.y};
    int low[3], high[3];
    for (int a = 0; a < 3; ++a) {
      const int reach = int(radius / band.side[a]);
      low[a] = at[a] - reach < 0 ? 0 : at[a] - reach;
      high[a] = at[a] + reach >= n[a] ? n[a] - 1 : at[a] + reach;
    }
    const std::size_t list = std::size_t(row) * m;
    int filled = 0;
    for (int z = low[2]; z <= high[2]; ++z)
      for (int y = low[1]; y <= high[1]; ++y)
        for (int x = low[0]; x <= high[0]; ++x) {
          const int j = element[(std::size_t(z) * n.y + y) * n.x + x] - 1;
          if (j < 0 || band.squared_distance(i, j) > radius * radius) continue;
          const float d =
              patch_distance(patches.values + std::size_t(i) * patches.stride,
                             patches.values + std::size_t(j) * patches.stride, patches.stride);
          if (filled == m && !(d < found.distance[list + m - 1]))
            continue;  // elements come by their number
          int place = filled < m ? filled++ : m - 1;
          for (; place > 0 && found.distance[list + place - 1] > d; --place) {
            found.distance[list + place] = found.distance[list + place - 1];
            found.index[list + place] = found.index[list + place - 1];
          }
          found.distance[list + place] = d;
          found.index[list + place] = j;
        }
    for (; filled < m; ++filled) {
      found.distance[list + filled] = key_distance(no_candidate);
      found.index[list + filled] = -1;
    }
  }
};

/// Turns distances into weights (eq. 15), in place. Runs over the rows of a slab.
struct WeightBody {
  SimilarView found;
  BandGeometry band;
  int first;
  float inverse_c1, inverse_c2;
  FREEFLOW_HD void operator()(int row, int, int) const {
    const std::size_t list = std::size_t(row) * found.neighbours;
    for (int k = 0; k < found.neighbours; ++k) {
      const int j = found.index[list + k];
      float weight = 0;
      if (j >= 0) {
        const float apart =
            inverse_c1 > 0 ? band.squared_distance(first + row, j) * inverse_c1 : 0.0f;
        weight = exp_nonpositive(-fma_(found.distance[list + k], inverse_c2, apart));
      }
      found.distance[list + k] = weight;
    }
  }
};

struct WeightSumBody : MaxBody {
  SimilarView weights;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    double sum = 0;
    for (int k = 0; k < weights.neighbours; ++k)
      sum += weights.distance[i * weights.neighbours + k];
    return sum;
  }
};

/// One step of eq. 16, never farther than `limit` from the start. Runs over the rows of a slab.
struct HeatStepBody {
  SimilarView weights;
  int first;
  float dt, limit;
  const float* start;
  const float* before;
  float* after;
  FREEFLOW_HD void operator()(int row, int, int) const {
    const std::size_t list = std::size_t(row) * weights.neighbours;
    const float own = before[first + row];
    float sum = 0;
    for (int k = 0; k < weights.neighbours; ++k) {
      const int j = weights.index[list + k];
      if (j >= 0) sum = fma_(weights.distance[list + k], before[j] - own, sum);
    }
    const float moved = fma_(dt, sum, own), origin = start[first + row];
    after[first + row] = moved < origin - limit   ? origin - limit
                         : moved > origin + limit ? origin + limit
                                                  : moved;
  }
};

/// |phi - phi before|.
struct ChangeSumBody : SumBody {
  const float *before, *after;
  FREEFLOW_HD double operator()(std::size_t i, int) const { return fabsf(after[i] - before[i]); }
};
struct ChangeMaxBody : MaxBody {
  const float *before, *after;
  FREEFLOW_HD double operator()(std::size_t i, int) const { return fabsf(after[i] - before[i]); }
};

/// Beside the surface: the change of phi (term 0), phi itself (term 1), the elements there (term
/// 2).
struct ShiftBody : SumBody {
  const float *before, *after;
  static constexpr int terms = 3;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    if (!(fabsf(before[i]) <= 1)) return 0;
    return term == 0 ? double(after[i]) - before[i] : term == 1 ? double(before[i]) : 1.0;
  }
};

/// Puts the band's values back, `limit` from what stood there at most. Runs over the elements.
struct ScatterBody {
  const std::int32_t* voxel;
  const float* value;
  float shift, limit;
  float* phi;
  FREEFLOW_HD void operator()(int i, int, int) const {
    const float start = phi[voxel[i]], moved = value[i] - shift, low = start - limit,
                high = start + limit;
    phi[voxel[i]] = moved < low ? low : moved > high ? high : moved;
  }
};

/// Marks both ends of every edge of the grid that one of two surfaces (zeros) cuts where the other
/// one cuts none within `limit`. Runs over the volume; marks stay. Lengths in mean sides.
struct StrayBody {
  VolumeView<const float> before, after;
  float side[3], limit;
  VolumeView<float> marked;

  /// Where a surface cuts the edge from voxel i to j, as a part of the edge; -1 where it does not.
  static FREEFLOW_HD float cut(const VolumeView<const float>& surface, std::size_t i,
                               std::size_t j) {
    const float a = surface.data[i], b = surface.data[j];
    return (a <= 0) == (b <= 0) ? -1.0f : a / (a - b);
  }

  /// Whether `other` has a cut within the limit of a point (in voxels). Looks around it in growing
  /// windows, for most are found at once.
  FREEFLOW_HD bool is_met(const VolumeView<const float>& other, const float (&point)[3]) const {
    const Extent n = other.extent;
    const std::size_t step[3] = {1, std::size_t(n.x), std::size_t(n.x) * n.y};
    const float shortest = fminf(side[0], fminf(side[1], side[2]));
    const int reach = int(limit / shortest) + 1;
    for (int window = 1;; window = 2 * window < reach ? 2 * window : reach) {
      int low[3], high[3];
      for (int a = 0; a < 3; ++a) {
        low[a] = int(point[a]) - window < 0 ? 0 : int(point[a]) - window;
        high[a] = int(point[a]) + window + 1 >= n[a] ? n[a] - 1 : int(point[a]) + window + 1;
      }
      for (int z = low[2]; z <= high[2]; ++z)
        for (int y = low[1]; y <= high[1]; ++y)
          for (int x = low[0]; x <= high[0]; ++x)
            for (int a = 0; a < 3; ++a) {
              const int at[3] = {x, y, z};
              if (at[a] + 1 >= n[a]) continue;
              const std::size_t i = other.offset(x, y, z);
              const float part = cut(other, i, i + step[a]);
              if (!(part >= 0)) continue;
              float square = 0;
              for (int b = 0; b < 3; ++b) {
                const float way = side[b] * (float(at[b]) + (a == b ? part : 0.0f) - point[b]);
                square = fma_(way, way, square);
              }
              if (square <= limit * limit) return true;
            }
      if (window == reach) return false;
    }
  }

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = before.extent;
    const int at[3] = {x, y, z};
    const std::size_t step[3] = {1, std::size_t(n.x), std::size_t(n.x) * n.y},
                      i = before.offset(x, y, z);
    for (int a = 0; a < 3; ++a)
      for (int end = 0; end < 2; ++end) {  // this voxel is the edge's lower end, or its upper one
        if (end == 0 ? at[a] + 1 == n[a] : at[a] == 0) continue;
        const std::size_t low = i - end * step[a];
        for (int k = 0; k < 2; ++k) {
          const float part = cut(k == 0 ? before : after, low, low + step[a]);
          if (!(part >= 0)) continue;
          float point[3] = {float(x), float(y), float(z)};
          point[a] = float(at[a] - end) + part;  // the same bits at both ends
          if (!is_met(k == 0 ? after : before, point)) marked.data[i] = 1;
        }
      }
  }
};

struct NanCountBody : SumBody {
  const float* value;
  FREEFLOW_HD double operator()(std::size_t i, int) const { return value[i] == value[i] ? 0 : 1; }
};

struct MarkCountBody : SumBody {
  const float* marked;
  FREEFLOW_HD double operator()(std::size_t i, int) const { return marked[i]; }
};

/// Takes phi back to what it was in the marked voxels, and within `reach` of them where it changed
/// its sign. Runs over the elements; reach in mean sides.
struct HoldBody {
  BandGeometry band;
  VolumeView<const float> marked, before;
  float reach;
  VolumeView<float> phi;
  FREEFLOW_HD void operator()(int i, int, int) const {
    const Extent n = phi.extent;
    const int v = band.voxel[i], at[3] = {v % n.x, v / n.x % n.y, v / n.x / n.y};
    const bool changed = (phi.data[v] <= 0) != (before.data[v] <= 0);
    if (!changed && marked.data[v] == 0) return;
    int low[3], high[3];
    for (int a = 0; a < 3; ++a) {
      const int window = changed ? int(reach / band.side[a]) : 0;
      low[a] = at[a] - window < 0 ? 0 : at[a] - window;
      high[a] = at[a] + window >= n[a] ? n[a] - 1 : at[a] + window;
    }
    for (int z = low[2]; z <= high[2]; ++z)
      for (int y = low[1]; y <= high[1]; ++y)
        for (int x = low[0]; x <= high[0]; ++x) {
          const float dx = band.side[0] * float(x - at[0]), dy = band.side[1] * float(y - at[1]),
                      dz = band.side[2] * float(z - at[2]);
          if (marked(x, y, z) != 0 && fma_(dz, dz, fma_(dy, dy, dx * dx)) <= reach * reach) {
            phi.data[v] = before.data[v];
            return;
          }
        }
  }
};

}  // namespace freeflow
