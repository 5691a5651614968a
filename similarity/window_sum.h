// Private: sums over the box of (2 radius + 1)^3 voxels about every voxel, of several planes at
// once, at a cost that does not depend on the radius. Voxels beyond the grid count 0. The matrix of
// such a sum is symmetric, so it is its own adjoint.
//
// Along z and y an axis is cut into segments of a fixed length; the first sum of a segment is added
// up in ascending order, every further one is the one before plus (value that enters - value that
// leaves), in double, where floats of similar size add up exactly: nothing drifts. Along x every
// window, w = 2 radius + 1 wide, is the end of one block of w voxels and the start of the next (van
// Herk 1992): running sums from the right over every block and from the left over the next, in
// float, nothing subtracted. Every backend and every number of threads keeps this order, so the
// bits are the same.
//
// Two passes: along z, and along y and then x. A pass takes a body that says where the values come
// from and what becomes of the sums:
//   along z:        static constexpr int terms, inputs; void load(std::size_t i, float* in) const;
//                   static constexpr float absent;
//                   static Terms<terms> widen(const float* in)    what to sum, of one voxel's
//                     inputs (`absent` beyond the grid)
//                   void emit(const float* sums, int x, int y, int z) const
//                   void emit_row(const double (&sums)[terms][columns], int x, int y, int z,
//                     int count) const, where the CPU has a better way to emit so many
//   along y and x:  static constexpr int terms;  const float* in (the planes, one after the other);
//                   void emit(const float* sums, int x, int y, int z, double& a, double& b) const
//                   a,
//                     b: running tallies of the column
//                   void close(int x, int segment, int z, double a, double b) const at
//                     the end of a segment along y
#pragma once

#include <algorithm>
#include <vector>

#include <freeflow/core/dispatch.h>
#include <freeflow/core/parallel_errors.h>
#include <freeflow/core/simd_dispatch.h>
#include <freeflow/core/views.h>

namespace freeflow {

template <int K>
struct Terms {
  double v[K];
};

/// Reads what no thread of the pass writes, so that a GPU's compiler may read ahead of the writes.
FREEFLOW_HD float read_only(const float* p) {
#ifdef __CUDA_ARCH__
  return __ldg(p);
#else
  return *p;
#endif
}

namespace window_sum {
/// Every column has as many running tallies, for every third row along y one, added up at the end
/// of the segment.
inline constexpr int tally_lanes = 3;
/// A power of two, not below the radius: then starting a segment costs at most two additions per
/// voxel.
inline int segment(int shortest, int radius) {
  int length = shortest;
  while (length < radius) length *= 2;
  return length;
}
inline int y_segment(int radius) { return segment(64, radius); }
inline int z_segment(int radius) { return segment(32, radius); }
inline int segments(int n, int length) { return (n + length - 1) / length; }
}  // namespace window_sum

template <class Body>
void sum_along_z(backend::Cuda, Extent n, int radius, const Body& body);
template <class Body>
void sum_along_yx(backend::Cuda, Extent n, int radius, const Body& body);

namespace window_sum {

inline constexpr int columns = 128;

/// Up to 128 neighbouring columns along z, from z_begin to z_end. Flattened: a body that is called
/// instead of inlined is not vectorised.
template <class Body>
[[gnu::flatten]] void sum_columns(const Body& body, Extent n, int radius, int x_begin, int x_count,
                                  int y, int z_begin, int z_end) {
  constexpr int K = Body::terms;
  double s[K][columns] = {};
  const std::size_t slice = std::size_t(n.x) * n.y, base = std::size_t(y) * n.x + x_begin;
  const auto terms = [&](std::size_t i) {
    float in[Body::inputs];
    body.load(i, in);
    return Body::widen(in);
  };
  for (int z = std::max(z_begin - radius, 0); z <= std::min(z_begin + radius, n.z - 1); ++z)
    for (int x = 0; x < x_count; ++x) {
      const Terms<K> in = terms(base + z * slice + x);
      for (int k = 0; k < K; ++k) s[k][x] += in.v[k];
    }
  for (int z = z_begin; z < z_end; ++z) {
    const std::size_t entering = base + (z + radius) * slice,
                      leaving = base + (z - radius - 1) * slice;
    const bool enters = z > z_begin && z + radius < n.z;
    const bool leaves = z > z_begin && z - radius - 1 >= 0;
    if (enters && leaves)
      for (int x = 0; x < x_count; ++x) {
        const Terms<K> in = terms(entering + x), out = terms(leaving + x);
        for (int k = 0; k < K; ++k) s[k][x] += in.v[k] - out.v[k];
      }
    else if (enters || leaves)
      for (int x = 0; x < x_count; ++x) {
        const Terms<K> t = terms((enters ? entering : leaving) + x);
        for (int k = 0; k < K; ++k) s[k][x] += enters ? t.v[k] : -t.v[k];
      }
    if constexpr (requires { body.emit_row(s, x_begin, y, z, x_count); }) {
      body.emit_row(s, x_begin, y, z, x_count);
      continue;
    }
#pragma GCC ivdep
    for (int x = 0; x < x_count; ++x) {
      float sums[K];
      for (int k = 0; k < K; ++k) sums[k] = float(s[k][x]);
      body.emit(sums, x_begin + x, y, z);
    }
  }
}

/// One thread's rows: the running sums of the columns, a row of them between radius zeros, its sums
/// along x, the tallies.
template <int K>
struct Rows {
  int nx, width, padded_width;  // width: whole blocks
  std::vector<double> column, tally;
  std::vector<float> padded, along_x;

  void resize(int new_nx, int radius) {
    const int window = 2 * radius + 1;
    nx = new_nx;
    width = segments(nx, window) * window;
    padded_width = width + 2 * radius;
    column.assign(std::size_t(K) * nx, 0.0);
    tally.assign(std::size_t(2) * tally_lanes * nx, 0.0);
    padded.assign(std::size_t(K) * padded_width, 0.0f);
    along_x.resize(std::size_t(K) * width);
  }
  void add_row(const float* in, std::size_t plane) {
    for (int k = 0; k < K; ++k)
      for (int x = 0; x < nx; ++x) column[std::size_t(k) * nx + x] += double(in[k * plane + x]);
  }
  void take_row(const float* out, std::size_t plane) {
    for (int k = 0; k < K; ++k)
      for (int x = 0; x < nx; ++x) column[std::size_t(k) * nx + x] -= double(out[k * plane + x]);
  }
  void slide_row(const float* in, const float* out, std::size_t plane) {
    for (int k = 0; k < K; ++k)
      for (int x = 0; x < nx; ++x)
        column[std::size_t(k) * nx + x] += double(in[k * plane + x]) - double(out[k * plane + x]);
  }
  void sum_along_x(int radius) {
    const int window = 2 * radius + 1;
    for (int k = 0; k < K; ++k)
      for (int x = 0; x < nx; ++x)
        padded[std::size_t(k) * padded_width + radius + x] = float(column[std::size_t(k) * nx + x]);
    const float* v = padded.data();
    float* out = along_x.data();
    for (int begin = 0; begin < width; begin += window) {
      float s[K] = {};
      for (int j = begin + window - 1; j >= begin; --j)
        for (int k = 0; k < K; ++k) out[k * width + j] = s[k] += v[k * padded_width + j];
      for (int k = 0; k < K; ++k) s[k] = 0;
      for (int j = begin + 1; j < begin + window; ++j)
        for (int k = 0; k < K; ++k)
          out[k * width + j] += s[k] += v[k * padded_width + j + window - 1];
    }
  }
};

/// A segment of slice z, along y and then x.
template <class Body>
[[gnu::flatten]] void sum_segment(const Body& body, Extent n, int radius, int segment, int z,
                                  Rows<Body::terms>& rows) {
  constexpr int K = Body::terms;
  const int length = y_segment(radius), begin = segment * length,
            end = std::min(begin + length, n.y);
  const std::size_t plane = n.count();
  const auto row = [&](int y) { return body.in + (std::size_t(z) * n.y + y) * n.x; };
  for (int y = std::max(begin - radius, 0); y <= std::min(begin + radius, n.y - 1); ++y)
    rows.add_row(row(y), plane);
  for (int y = begin; y < end; ++y) {
    const bool enters = y > begin && y + radius < n.y;
    const bool leaves = y > begin && y - radius - 1 >= 0;
    if (enters && leaves)
      rows.slide_row(row(y + radius), row(y - radius - 1), plane);
    else if (enters)
      rows.add_row(row(y + radius), plane);
    else if (leaves)
      rows.take_row(row(y - radius - 1), plane);
    rows.sum_along_x(radius);
    const float* along_x = rows.along_x.data();
    double *a = rows.tally.data() + std::size_t(2) * n.x * ((y - begin) % tally_lanes),
           *b = a + n.x;
    const int width = rows.width;
#pragma GCC ivdep
    for (int x = 0; x < n.x; ++x) {
      float sums[K];
      for (int k = 0; k < K; ++k) sums[k] = along_x[k * width + x];
      body.emit(sums, x, y, z, a[x], b[x]);
    }
  }
  const auto tally = [&](int x, int term) {
    double sum = 0;
    for (int lane = 0; lane < tally_lanes; ++lane)
      sum += rows.tally[std::size_t(2 * lane + term) * n.x + x];
    return sum;
  };
  for (int x = 0; x < n.x; ++x) body.close(x, segment, z, tally(x, 0), tally(x, 1));
}

}  // namespace window_sum

template <class Body>
void sum_along_z(backend::Cpu cpu, Extent n, int radius, const Body& body) {
  constexpr int width = window_sum::columns;
  const int length = window_sum::z_segment(radius), pieces = window_sum::segments(n.x, width);
  const std::ptrdiff_t tasks = std::ptrdiff_t(pieces) * n.y * window_sum::segments(n.z, length);
#pragma omp parallel for schedule(dynamic, 4) num_threads(cpu.threads)
  for (std::ptrdiff_t task = 0; task < tasks; ++task) {
    const Body local = body;
    const int x = int(task % pieces) * width, y = int(task / pieces % n.y),
              z = int(task / pieces / n.y) * length;
    simd_dispatch([&] {
      window_sum::sum_columns(local, n, radius, x, std::min(width, n.x - x), y, z,
                              std::min(z + length, n.z));
    });
  }
}

template <class Body>
void sum_along_yx(backend::Cpu cpu, Extent n, int radius, const Body& body) {
  const int segments = window_sum::segments(n.y, window_sum::y_segment(radius));
  ParallelErrors errors;
#pragma omp parallel for schedule(dynamic) num_threads(cpu.threads)
  for (int task = 0; task < n.z * segments; ++task) {
    static thread_local window_sum::Rows<Body::terms> rows;
    errors.run([&] { rows.resize(n.x, radius); });
    if (errors.failed()) continue;
    const Body local = body;
    simd_dispatch(
        [&] { window_sum::sum_segment(local, n, radius, task % segments, task / segments, rows); });
  }
  errors.rethrow();
}

template <class Body>
void sum_along_z(const Context& ctx, Extent n, int radius, const Body& body) {
  backend::dispatch(ctx, [&](auto target) { sum_along_z(target, n, radius, body); });
}

template <class Body>
void sum_along_yx(const Context& ctx, Extent n, int radius, const Body& body) {
  backend::dispatch(ctx, [&](auto target) { sum_along_yx(target, n, radius, body); });
}

}  // namespace freeflow
