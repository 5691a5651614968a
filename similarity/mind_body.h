// Private: the mathematics of mind.h.
//
// The twelve channels need six planes of patch distances: the pair of neighbours x + d a and x + d
// b is the pair y, y + v with y = x + d a and v = d (b - a), and so is -b, -a at y = x - d b.
// Least traffic, bytes per voxel: evaluating 12 of u + 16 + 16 of descriptors + 4 + 4 of residuals
// + 12 + 24 of the force = 88, 52 for the value alone; preparing an image 6 * 8 of squares + 2 (36
// + 48) of sums + 32 + 4 of the variance + 44 = 296, once per level.
#pragma once

#include <freeflow/core/portable_exp.h>
#include <freeflow/deform/warp_body.h>
#include <freeflow/similarity/four_floats.h>
#include <freeflow/similarity/intensity_range_body.h>
#include <freeflow/similarity/mind_record.h>
#include <freeflow/similarity/window_sum.h>

namespace freeflow {

/// Squared differences of the intensities, in parts of their range, of voxels `shift` apart; NaN
/// without two values.
struct MindSquaresBody {
  VolumeView<const float> image;
  float low, per_unit;
  int shift[3];
  VolumeView<float> out;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = image.extent;
    const int i = x + shift[0], j = y + shift[1], k = z + shift[2];
    const bool inside = (i >= 0) & (i < n.x) & (j >= 0) & (j < n.y) & (k >= 0) & (k < n.z);
    const float difference = inside ? in_parts_of_range(image(x, y, z), low, per_unit) -
                                          in_parts_of_range(image(i, j, k), low, per_unit)
                                    : NAN;
    out(x, y, z) = difference * difference;
  }
};

/// Sums, and then numbers, of the squares of three planes in the patch, along z. (A GPU's sums
/// along y and x take planes by threes.)
struct MindSquaresAlongZ {
  static constexpr int terms = 6, inputs = 3;
  static constexpr float absent = NAN;
  const float* in;
  VolumeView<float> out;  // the first of six planes
  FREEFLOW_HD void load(std::size_t i, float* v) const {
    const std::size_t plane = out.extent.count();
    for (int k = 0; k < inputs; ++k) v[k] = read_only(in + k * plane + i);
  }
  static FREEFLOW_HD Terms<6> widen(const float* v) {
    Terms<6> t;
    for (int k = 0; k < inputs; ++k) {
      const bool counts = v[k] == v[k];
      t.v[k] = counts ? double(v[k]) : 0.0;
      t.v[inputs + k] = counts ? 1.0 : 0.0;
    }
    return t;
  }
  FREEFLOW_HD void emit(const float* sums, int x, int y, int z) const {
    const std::size_t plane = out.extent.count(), i = out.offset(x, y, z);
    for (int k = 0; k < terms; ++k) out.data[k * plane + i] = sums[k];
  }
};

/// The same along y and x, and the means in place of the squares: NaN where the two centres have no
/// values.
struct MindMeansAlongYx {
  static constexpr int terms = 6;
  const float* in;
  VolumeView<float> squares;  // the first of three planes
  FREEFLOW_HD void emit(const float* s, int x, int y, int z, double&, double&) const {
    const std::size_t plane = squares.extent.count(), i = squares.offset(x, y, z);
    for (int k = 0; k < 3; ++k) {
      float& centre = squares.data[k * plane + i];
      const float mean = s[k] / s[3 + k];
      // A running sum of what left the window may be a little below 0.
      centre = centre == centre ? (mean > 0.0f ? mean : 0.0f) : NAN;
    }
  }
  FREEFLOW_HD void close(int, int, int, double, double) const {}
};

/// A voxel's patch distances, gathered from the six planes.
struct MindDistances {
  float of[MindRecord::count];
  std::uint32_t present;
  float least, mean;
};

struct MindPlanes {
  VolumeView<const float> image;
  const float* planes;
  int dilation;

  FREEFLOW_HD float at(int plane, int x, int y, int z) const {
    const Extent n = image.extent;
    const bool inside = (x >= 0) & (x < n.x) & (y >= 0) & (y < n.y) & (z >= 0) & (z < n.z);
    return inside ? planes[plane * n.count() + n.offset(x, y, z)] : NAN;
  }
  FREEFLOW_HD MindDistances operator()(int x, int y, int z) const {
    MindDistances d;
    const int s = dilation;
    d.of[0] = at(0, x + s, y, z);
    d.of[1] = at(0, x, y - s, z);
    d.of[2] = at(1, x, y - s, z);
    d.of[3] = at(1, x - s, y, z);
    d.of[4] = at(2, x + s, y, z);
    d.of[5] = at(2, x, y, z - s);
    d.of[6] = at(3, x, y, z - s);
    d.of[7] = at(3, x - s, y, z);
    d.of[8] = at(4, x, y + s, z);
    d.of[9] = at(4, x, y, z - s);
    d.of[10] = at(5, x, y, z - s);
    d.of[11] = at(5, x, y - s, z);
    const bool valued = is_finite(image(x, y, z));
    d.present = 0;
    d.least = INFINITY;
    float sum = 0, number = 0;
    for (int k = 0; k < MindRecord::count; ++k) {
      const bool has = valued & (d.of[k] == d.of[k]);
      d.present |= std::uint32_t(has) << k;
      d.least = has && d.of[k] < d.least ? d.of[k] : d.least;
      sum += has ? d.of[k] : 0.0f;
      number += has ? 1.0f : 0.0f;
    }
    d.mean = sum / number;  // NaN where there is none
    return d;
  }
};

struct MindVarianceBody {
  MindPlanes planes;
  float* out;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    out[planes.image.offset(x, y, z)] = planes(x, y, z).mean;
  }
};

/// Terms: the sum and the number of what is not NaN.
struct MindMeanBody : SumBody {
  const float* data;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    const float v = data[i];
    return v == v ? (term == 0 ? double(v) : 1.0) : 0.0;
  }
};

struct MindCostBody {
  const double* sums;
  double* cost;
  FREEFLOW_HD void operator()(int, int, int) const { *cost = sums[0] / sums[1]; }
};

struct MindDescriptorBody {
  MindPlanes planes;
  const double* variance_sums;
  MindRecord* out;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const MindDistances d = planes(x, y, z);
    const float typical = float(variance_sums[0] / variance_sums[1]);
    const float lowest = 0.001f * typical, highest = 1000.0f * typical;
    const float v = d.mean > lowest ? (d.mean < highest ? d.mean : highest) : lowest;
    const float per_v = v > 1e-30f ? 1.0f / v : 0.0f;  // a constant image: all channels 1
    MindRecord r{{0, 0, 0}, d.present};
    for (int k = 0; k < MindRecord::count; ++k) {
      const float e = d.present >> k & 1 ? exp_nonpositive((d.least - d.of[k]) * per_v) : 0.0f;
      r.channels[k / 4] |= std::uint32_t(fma_(255.0f, e, 0.5f)) << 8 * (k % 4);
    }
    out[planes.image.offset(x, y, z)] = r;
  }
};

/// Channel k becomes what channel from[k] was, in place.
struct MindOrderBody {
  VolumeView<MindRecord> records;
  std::uint8_t from[MindRecord::count];
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    MindRecord& at = records(x, y, z);
    const MindRecord before = at;
    MindRecord r{{0, 0, 0}, 0};
    for (int k = 0; k < MindRecord::count; ++k) {
      const int j = from[k], word = j / 4;
      const std::uint32_t w = word == 0   ? before.channels[0]
                              : word == 1 ? before.channels[1]
                                          : before.channels[2];
      r.channels[k / 4] |= (w >> 8 * (j % 4) & 255u) << 8 * (k % 4);
      r.present |= (before.present >> j & 1u) << k;
    }
    at = r;
  }
};

/// A voxel's mean of squared residuals over its channels, and N times its force. The force needs no
/// gradient of every channel: the sums of residual times channel in the cell's eight corners, taken
/// as one more image, have the gradient that is wanted.
struct MindResidualBody {
  const MindRecord* fixed;
  VolumeView<const MindRecord> moving;
  DisplacedPoint point;
  float* residual;         // NaN without any channel
  FieldView<float> force;  // null data: the value alone

  struct CellRecords {
    MindRecord at[8];
    std::uint32_t present;
  };
  FREEFLOW_HD CellRecords fetch(const CellOnAxis& cx, const CellOnAxis& cy,
                                const CellOnAxis& cz) const {
    const std::size_t i = moving.offset(cx.low, cy.low, cz.low), dx = std::size_t(cx.step),
                      dy = std::size_t(cy.step) * moving.extent.x,
                      dz = std::size_t(cz.step) * moving.extent.x * moving.extent.y;
    CellRecords c;
    c.present = MindRecord::all;
    for (int k = 0; k < 8; ++k) {
      c.at[k] = moving.data[i + (k & 1 ? dx : 0) + (k & 2 ? dy : 0) + (k & 4 ? dz : 0)];
      c.present &= c.at[k].present;
    }
    return c;
  }
  FREEFLOW_HD void write_force(std::size_t i, float x, float y, float z) const {
    const std::size_t n = force.extent.count();
    force.data[i] = x;
    force.data[i + n] = y;
    force.data[i + 2 * n] = z;
  }

  /// Takes channels in, one or four at once: the residual's squares, and residual times channel in
  /// each corner. Bits of `present` say which count.
  template <class Channels>
  static FREEFLOW_HD void take(Channels fixed, const Channels (&cell)[8], const float (&weights)[8],
                               std::uint32_t present, Channels& squares, Channels (&corners)[8]) {
    Channels r = fixed;
    for (int k = 0; k < 8; ++k) r = fma_(-weights[k], cell[k], r);
    r = where(present, r);
    squares = fma_(r, r, squares);
    for (int k = 0; k < 8; ++k) corners[k] = fma_(r, cell[k], corners[k]);
  }
  static FREEFLOW_HD float weight(int k, float tx, float ty, float tz) {
    return (k & 1 ? tx : 1.0f - tx) * (k & 2 ? ty : 1.0f - ty) * (k & 4 ? tz : 1.0f - tz);
  }
  /// What becomes of the sums over all channels that are present.
  FREEFLOW_HD void write(std::size_t i, std::uint32_t present, float squares, const Cell& corners,
                         const CellOnAxis& cx, const CellOnAxis& cy, const CellOnAxis& cz) const {
    const bool any = present != 0;
    const float share = 1.0f / (255.0f * 255.0f * float(population(present)));
    residual[i] = any ? squares * share : NAN;
    if (!force.data) return;
    const Vec3f g = interpolate_with_gradient(corners, cx, cy, cz).gradient;
    const auto& a = point.map.m;
    const float twice = 2.0f * share;
    const float x = twice * fma_(a[0][0], g.x, fma_(a[1][0], g.y, a[2][0] * g.z)),
                y = twice * fma_(a[0][1], g.x, fma_(a[1][1], g.y, a[2][1] * g.z)),
                z = twice * fma_(a[0][2], g.x, fma_(a[1][2], g.y, a[2][2] * g.z));
    write_force(i, any ? x : 0.0f, any ? y : 0.0f, any ? z : 0.0f);
  }

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = moving.extent;
    const std::size_t i = force.extent.offset(x, y, z);
    const MindRecord f = fixed[i];
    const Vec3f p = point(x, y, z);
    const CellOnAxis cx = locate(p.x, n.x), cy = locate(p.y, n.y), cz = locate(p.z, n.z);
    const CellRecords m = fetch(cx, cy, cz);
    const std::uint32_t present = has_value(p, n) ? f.present & m.present : 0;
    if (present == 0) {
      residual[i] = NAN;
      if (force.data) write_force(i, 0, 0, 0);
      return;
    }
    float weights[8];
    for (int k = 0; k < 8; ++k) weights[k] = weight(k, cx.fraction, cy.fraction, cz.fraction);
    FourFloats squares, corners[8];
    for (int word = 0; word < 3; ++word) {
      FourFloats cell[8];
      for (int k = 0; k < 8; ++k) cell[k] = four_bytes(m.at[k].channels[word]);
      take(four_bytes(f.channels[word]), cell, weights, present >> 4 * word, squares, corners);
    }
    write(i, present, sum_of(squares),
          {sum_of(corners[0]), sum_of(corners[1]), sum_of(corners[2]), sum_of(corners[3]),
           sum_of(corners[4]), sum_of(corners[5]), sum_of(corners[6]), sum_of(corners[7])},
          cx, cy, cz);
  }

  static FREEFLOW_HD int population(std::uint32_t bits) {
    int number = 0;
    for (int k = 0; k < MindRecord::count; ++k) number += int(bits >> k & 1u);
    return number;
  }
};

/// Divides by the number of voxels that count.
struct MindForceBody {
  FieldView<float> force;
  const double* sums;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = force.extent.count(), i = force.extent.offset(x, y, z);
    const float per_voxel = sums[1] > 0 ? float(1.0 / sums[1]) : 0.0f;
    for (int c = 0; c < 3; ++c) force.data[i + c * n] *= per_voxel;
  }
};

}  // namespace freeflow
