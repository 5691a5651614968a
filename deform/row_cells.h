// Private: samples along a piece of a row on the CPU, by loops of their own: where the points fall,
// which voxels stand about them, and what the caller makes of those. All of it in one loop is
// vectorised too, but then every index is taken out of its vector again for each of the eight
// reads, which takes half as long again; here neighbours along x are read at once. A voxel sees the
// same operations, so the bits are those of sampling_body.h.
#pragma once

#include <algorithm>
#include <cstring>

#include <freeflow/core/dispatch.h>
#include <freeflow/core/simd_dispatch.h>
#include <freeflow/deform/sampling_body.h>

namespace freeflow {

struct RowGradients;

class RowCells {
 public:
  static constexpr int longest = 256;  // what it keeps of a piece stays in the first cache

  /// The cells about point(0) to point(count - 1) in images of so many voxels.
  template <class Point>
  void locate(Extent image, int count, const Point& point) {
    image_ = image;
    count_ = count;
#pragma GCC ivdep
    for (int i = 0; i < count; ++i) {
      const Vec3f p = point(i);
      x_[i] = p.x;
      y_[i] = p.y;
      z_[i] = p.z;
      corner_[i] =
          image.offset(freeflow::locate(p.x, image.x).low, freeflow::locate(p.y, image.y).low,
                       freeflow::locate(p.z, image.z).low);
    }
  }

  /// Reads the voxels of those cells, neighbours along x at once.
  void fetch(const float* image) {
    const float* const rows[4] = {image, image + step(2), image + step(4), image + step(6)};
    const int count = count_;
    const std::size_t* __restrict const corner = corner_;
    float* __restrict const pairs = pairs_;
    if (image_.x > 1) {
      for (int i = 0; i < count; ++i)
        for (int k = 0; k < 4; ++k)
          std::memcpy(pairs + 2 * (k * longest + i), rows[k] + corner[i], 8);
    } else {
      for (int i = 0; i < count; ++i)
        for (int k = 0; k < 4; ++k)
          pairs[2 * (k * longest + i)] = pairs[2 * (k * longest + i) + 1] = rows[k][corner[i]];
    }
  }

  /// Where a cell's first voxel stands in the image, and how far from it voxel k, in the order of
  /// Cell.
  std::size_t corner(int i) const { return corner_[i]; }
  std::ptrdiff_t step(int k) const {
    const std::ptrdiff_t along_y = k & 2 && image_.y > 1 ? image_.x : 0,
                         along_z = k & 4 && image_.z > 1 ? std::ptrdiff_t(image_.x) * image_.y : 0;
    return (k & 1 && image_.x > 1 ? 1 : 0) + along_y + along_z;
  }
  bool has_value(int i) const { return freeflow::has_value(point(i), image_); }
  CellOnAxis along_x(int i) const { return freeflow::locate(x_[i], image_.x); }
  CellOnAxis along_y(int i) const { return freeflow::locate(y_[i], image_.y); }
  CellOnAxis along_z(int i) const { return freeflow::locate(z_[i], image_.z); }

  /// sample_linear_clamped, sample_linear and sample_linear_with_gradient of what was read last.
  float clamped(int i) const {
    return interpolate(cell(i), along_x(i).fraction, along_y(i).fraction, along_z(i).fraction);
  }
  float value(int i) const {
    const float v = clamped(i);
    return has_value(i) ? v : NAN;
  }
  void with_gradient(RowGradients& out) const;

 private:
  Vec3f point(int i) const { return {x_[i], y_[i], z_[i]}; }
  Cell cell(int i) const {
    const float *const a = pairs_ + 2 * i, *const b = a + 2 * longest, *const c = b + 2 * longest,
                       *const d = c + 2 * longest;
    return {a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]};
  }

  Extent image_;
  int count_ = 0;
  float x_[longest], y_[longest], z_[longest];
  std::size_t corner_[longest];
  float pairs_[8 * longest];  // in the order of Cell
};

/// What sample_linear_with_gradient finds along a piece of a row.
struct RowGradients {
  float value[RowCells::longest], x[RowCells::longest], y[RowCells::longest], z[RowCells::longest];
  SampleWithGradient operator[](int i) const { return {value[i], {x[i], y[i], z[i]}}; }
};

inline void RowCells::with_gradient(RowGradients& out) const {
#pragma GCC ivdep
  for (int i = 0; i < count_; ++i) {
    const SampleWithGradient s =
        interpolate_with_gradient(cell(i), along_x(i), along_y(i), along_z(i));
    out.value[i] = has_value(i) ? s.value : NAN;
    out.x[i] = s.gradient.x;
    out.y[i] = s.gradient.y;
    out.z[i] = s.gradient.z;
  }
}

/// Calls run(x, y, z, count) for pieces of all rows, none longer than that.
template <class Run>
void for_each_piece(backend::Cpu cpu, Extent extent, int longest, const Run& run) {
  const int pieces = (extent.x + longest - 1) / longest;
  const std::ptrdiff_t tasks = std::ptrdiff_t(pieces) * extent.y * extent.z,
                       share = tasks / (16 * cpu.threads) + 1;  // as for_each_voxel
#pragma omp parallel for schedule(dynamic, share) \
    num_threads(cpu.threads) if (extent.count() >= 8192)
  for (std::ptrdiff_t task = 0; task < tasks; ++task) {
    const int row = int(task / pieces), x = int(task % pieces) * longest;
    simd_dispatch([&] { run(x, row % extent.y, row / extent.y, std::min(longest, extent.x - x)); });
  }
}

}  // namespace freeflow
