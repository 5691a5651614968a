// Fourier transforms of real volumes, in place: cuFFT on a GPU, Eigen's (kissfft) on the CPU, there
// with threads over the lines. They round differently, by about 1e-6 of the largest value: nothing
// that rests on them has the same bits on both. libcufft is loaded when the first transform of a
// GPU context is made, not when the program starts: it is large and few need it.
#pragma once

#include <memory>

#include <freeflow/core/context.h>
#include <freeflow/core/views.h>

namespace freeflow {

/// The smallest size from n on that is fast: a multiple of 4 with no prime factor above 5.
int fast_fft_size(int n);

class RealFft {
 public:
  /// For `batch` volumes of n voxels that follow each other. A row of x takes row_floats(n) floats,
  /// the last of them unused before `forward`, so that its nx / 2 + 1 complex values (of
  /// non-negative frequency) find room in it. Allocates cuFFT's scratch. n should be fast_fft_size:
  /// other sizes cost more. Throws DeviceError where libcufft is missing, InvalidArgument for no
  /// voxels, or for a volume of more than 2^31 - 1 floats.
  RealFft(Context& ctx, Extent n, int batch);
  ~RealFft();
  RealFft(RealFft&&) noexcept;
  RealFft& operator=(RealFft&&) noexcept;

  static int row_floats(Extent n) { return 2 * (n.x / 2 + 1); }
  static std::size_t floats(Extent n, int batch) {
    return std::size_t(row_floats(n)) * n.y * n.z * batch;
  }

  /// Both in place, unscaled: forward and inverse give n.count() times what was there. Neither
  /// allocates nor waits.
  void forward(Context& ctx, float* volumes) const;
  void inverse(Context& ctx, float* volumes) const;

  class Plan;

 private:
  std::unique_ptr<Plan> plan_;
};

}  // namespace freeflow
