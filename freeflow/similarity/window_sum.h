// Private: sums over the box of (2 radius + 1)^3 voxels about every voxel, of several planes at once, at a cost that does not depend on the
// radius. Voxels beyond the grid count 0. The matrix of such a sum is symmetric, so it is its own adjoint.
//
// One rule along every axis: an axis is cut into segments of a fixed length; the first sum of a segment is added up in ascending order,
// every further one is the one before plus (value that enters - value that leaves), in double; what is stored is rounded to float. Float
// values of similar size add up exactly in double, so nothing drifts, and every backend and every number of threads gives the same bits.
//
// Two passes: along z, and along y and then x. A pass takes a body that says where the values come from and what becomes of the sums:
//   along z:        static constexpr int terms;  Terms<terms> load(std::size_t i) const;
//                   void emit(const float* sums, int x, int y, int z) const
//   along y and x:  static constexpr int terms;  const float* in (the planes, one after the other);
//                   void emit(const float* sums, int x, int y, int z, double& a, double& b) const   a, b: running tallies of the column
//                   void close(int x, int segment, int z, double a, double b) const                 at the end of a segment along y
#pragma once

#include <algorithm>
#include <vector>

#include <freeflow/core/dispatch.h>
#include <freeflow/core/views.h>

namespace freeflow {

template <int K>
struct Terms {
  double v[K];
};

namespace window_sum {
/// A power of two, not below the radius: then starting a segment costs at most two additions per voxel.
inline int segment(int shortest, int radius) {
  int length = shortest;
  while (length < radius) length *= 2;
  return length;
}
inline int x_segment(int radius) { return segment(32, radius); }
inline int y_segment(int radius) { return segment(64, radius); }
inline int z_segment(int radius) { return segment(64, radius); }
inline int segments(int n, int length) { return (n + length - 1) / length; }
}  // namespace window_sum

template <class Body>
void sum_along_z(backend::Cuda, Extent n, int radius, const Body& body);
template <class Body>
void sum_along_yx(backend::Cuda, Extent n, int radius, const Body& body);

namespace window_sum {

/// Up to 128 neighbouring columns along z, from z_begin to z_end.
template <class Body>
void sum_columns(const Body& body, Extent n, int radius, int x_begin, int x_count, int y, int z_begin, int z_end) {
  constexpr int K = Body::terms, width = 128;
  double s[K][width] = {};
  const std::size_t slice = std::size_t(n.x) * n.y, base = std::size_t(y) * n.x + x_begin;
  for (int z = std::max(z_begin - radius, 0); z <= std::min(z_begin + radius, n.z - 1); ++z)
    for (int x = 0; x < x_count; ++x) {
      const Terms<K> in = body.load(base + z * slice + x);
      for (int k = 0; k < K; ++k) s[k][x] += in.v[k];
    }
  for (int z = z_begin; z < z_end; ++z) {
    const std::size_t entering = base + (z + radius) * slice, leaving = base + (z - radius - 1) * slice;
    const bool enters = z > z_begin && z + radius<n.z, leaves = z> z_begin && z - radius - 1 >= 0;
    if (enters && leaves)
      for (int x = 0; x < x_count; ++x) {
        const Terms<K> in = body.load(entering + x), out = body.load(leaving + x);
        for (int k = 0; k < K; ++k) s[k][x] += in.v[k] - out.v[k];
      }
    else if (enters || leaves)
      for (int x = 0; x < x_count; ++x) {
        const Terms<K> t = body.load((enters ? entering : leaving) + x);
        for (int k = 0; k < K; ++k) s[k][x] += enters ? t.v[k] : -t.v[k];
      }
#pragma GCC ivdep
    for (int x = 0; x < x_count; ++x) {
      float sums[K];
      for (int k = 0; k < K; ++k) sums[k] = float(s[k][x]);
      body.emit(sums, x_begin + x, y, z);
    }
  }
}

/// One thread's rows: the running sums of the columns, a row of them padded by zeros, its running sums along x, the tallies.
template <int K>
struct Rows {
  int nx, radius, pitch;
  std::vector<double> column, along_x, tally;
  std::vector<float> padded;

  void resize(int new_nx, int new_radius) {
    nx = new_nx;
    radius = new_radius;
    pitch = nx + 2 * radius + 1;
    column.assign(std::size_t(K) * nx, 0.0);
    along_x.resize(std::size_t(K) * nx);
    tally.assign(std::size_t(2) * nx, 0.0);
    padded.assign(std::size_t(K) * pitch, 0.0f);
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
      for (int x = 0; x < nx; ++x) column[std::size_t(k) * nx + x] += double(in[k * plane + x]) - double(out[k * plane + x]);
  }
  void sum_along_x() {
    for (int k = 0; k < K; ++k) {
      float* row = padded.data() + std::size_t(k) * pitch;  // voxel x stands at x + radius + 1
      double* difference = along_x.data() + std::size_t(k) * nx;
      for (int x = 0; x < nx; ++x) row[x + radius + 1] = float(column[std::size_t(k) * nx + x]);
      for (int x = 0; x < nx; ++x) difference[x] = double(row[x + 2 * radius + 1]) - double(row[x]);
    }
    const int length = x_segment(radius);
    for (int begin = 0; begin < nx; begin += length) {
      double s[K] = {};
      for (int j = 1; j <= 2 * radius + 1; ++j)
        for (int k = 0; k < K; ++k) s[k] += double(padded[std::size_t(k) * pitch + begin + j]);
      for (int k = 0; k < K; ++k) along_x[std::size_t(k) * nx + begin] = s[k];
      for (int x = begin + 1; x < std::min(begin + length, nx); ++x)
        for (int k = 0; k < K; ++k) along_x[std::size_t(k) * nx + x] = s[k] += along_x[std::size_t(k) * nx + x];
    }
  }
};

}  // namespace window_sum

template <class Body>
void sum_along_z(backend::Cpu cpu, Extent n, int radius, const Body& body) {
  constexpr int width = 128;
  const int length = window_sum::z_segment(radius), pieces = window_sum::segments(n.x, width);
  const std::ptrdiff_t tasks = std::ptrdiff_t(pieces) * n.y * window_sum::segments(n.z, length);
#pragma omp parallel for schedule(dynamic, 4) num_threads(cpu.threads)
  for (std::ptrdiff_t task = 0; task < tasks; ++task) {
    const Body local = body;
    const int x = int(task % pieces) * width, y = int(task / pieces % n.y), z = int(task / pieces / n.y) * length;
    window_sum::sum_columns(local, n, radius, x, std::min(width, n.x - x), y, z, std::min(z + length, n.z));
  }
}

template <class Body>
void sum_along_yx(backend::Cpu cpu, Extent n, int radius, const Body& body) {
  constexpr int K = Body::terms;
  const int length = window_sum::y_segment(radius), segments = window_sum::segments(n.y, length);
  const std::size_t plane = n.count();
#pragma omp parallel for schedule(dynamic) num_threads(cpu.threads)
  for (int task = 0; task < n.z * segments; ++task) {
    static thread_local window_sum::Rows<K> rows;
    rows.resize(n.x, radius);
    const Body local = body;
    const int z = task / segments, segment = task % segments, begin = segment * length, end = std::min(begin + length, n.y);
    const auto row = [&](int y) { return local.in + (std::size_t(z) * n.y + y) * n.x; };
    for (int y = std::max(begin - radius, 0); y <= std::min(begin + radius, n.y - 1); ++y) rows.add_row(row(y), plane);
    double *a = rows.tally.data(), *b = a + n.x;
    for (int y = begin; y < end; ++y) {
      const bool enters = y > begin && y + radius<n.y, leaves = y> begin && y - radius - 1 >= 0;
      if (enters && leaves)
        rows.slide_row(row(y + radius), row(y - radius - 1), plane);
      else if (enters)
        rows.add_row(row(y + radius), plane);
      else if (leaves)
        rows.take_row(row(y - radius - 1), plane);
      rows.sum_along_x();
      const double* along_x = rows.along_x.data();
#pragma GCC ivdep
      for (int x = 0; x < n.x; ++x) {
        float sums[K];
        for (int k = 0; k < K; ++k) sums[k] = float(along_x[std::size_t(k) * n.x + x]);
        local.emit(sums, x, y, z, a[x], b[x]);
      }
    }
    for (int x = 0; x < n.x; ++x) local.close(x, segment, z, a[x], b[x]);
  }
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
