// Private: the Gaussian of smoother.h in Fourier space. The volume is continued by its border
// values on all sides, as far as the window reaches, and padded to a fast size; the spectrum is
// multiplied by that of the very window of `separable`, so the two differ by the rounding of the
// transforms alone (about 1e-6 of the largest value). The cost grows with sigma only by the
// padding.
#pragma once

#include <array>

#include <Eigen/Core>

#include <freeflow/core/buffer.h>
#include <freeflow/core/fft.h>
#include <freeflow/regularize/fft_padding.h>

namespace freeflow {

class FftGaussian {
 public:
  /// Allocates the padded field, the weights and the transforms of a field and of a volume. sigma
  /// per axis in voxels.
  FftGaussian(Context& ctx, Extent extent, const Eigen::Vector3d& sigma);

  /// planes: 1 or 3, which are transformed together. Neither allocates nor waits.
  void apply(Context& ctx, const float* in, float* out, int planes) const;

 private:
  Padding padding_;
  std::array<Buffer<float>, 3> spectrum_;
  Buffer<float> field_;
  RealFft field_transform_, volume_transform_;
};

}  // namespace freeflow
