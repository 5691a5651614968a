// Gaussian smoothing of fields and scalars that have a value at every voxel (images with holes:
// gaussian.h), the regulariser of the flows. Beyond the border a line goes on with its last value,
// so a constant stays what it is. Three ways, each within 1e-3 of the convolution (values in [-1,
// 1]):
//   separable  a window of 8 sigma + 1 weights along each axis;
//   recursive  Deriche's fourth-order filter, causal and anticausal in parallel ("Recursively
//              implementing the Gaussian and its derivatives", 1993), started from the constant
//              that the line has beyond its ends, which is exact. Its sum of absolute errors is
//              below 9e-4 from sigma 0.5 on. The cost does not grow with sigma. A line is filtered
//              less its first value, so that a constant stays exactly what it is and floats
//              suffice.
//   fft        the separable window applied in Fourier space on a padded volume (fft_gaussian.h),
//              the components of a field together.
// Cost: three passes, each reads and writes everything once (separable on a CPU: two, as x and y go
// together); fft: about five times that. Same bits on every device, but for fft.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

enum class Smoother {
  automatic,  ///< per axis: separable up to a sigma of 4 voxels, recursive above
  recursive,  ///< on axes of a sigma of half a voxel at least, separable on others
  separable,
  fft
};
std::optional<Smoother> parse_smoother(std::string_view name);

class FftGaussian;

/// A section of second order of the recursive filter (smoother_body.h), and its responses to a
/// constant 1.
struct RecursiveSection {
  float n0 = 0, n1 = 0, m1 = 0, m2 = 0, d1 = 0, d2 = 0, steady_forward = 0, steady_backward = 0;
};

class GaussianFilter {
 public:
  /// For volumes of one extent, sigma per axis in voxels (0: the axis stays as it is). Allocates
  /// the weights; fft: also a padded copy of a field and the transforms' scratch.
  /// Throws InvalidArgument where sigma is negative, not finite or above 64 for separable and fft.
  GaussianFilter(Context& ctx, Extent extent, const Eigen::Vector3d& sigma_voxels,
                 Smoother smoother = Smoother::automatic);
  ~GaussianFilter();
  GaussianFilter(GaussianFilter&&) noexcept;

  /// Smooths `in` into `out`, which must not overlap; `in` is used up. Neither allocates nor waits.
  void apply(Context& ctx, FieldView<float> in, FieldView<float> out) const;
  void apply(Context& ctx, VolumeView<float> in, VolumeView<float> out) const;

  /// False where every sigma is 0.
  bool smooths() const;

 private:
  struct Axis {
    bool recursive = false;
    double sigma = 0;
    Buffer<float> weights;  // separable
    std::array<RecursiveSection, 2> sections{};
  };
  void apply(Context& ctx, float* in, float* out, int planes) const;

  Extent extent_;
  std::array<Axis, 3> axes_;
  std::unique_ptr<FftGaussian> fft_;
};

/// In place; allocates a second copy for the time being. sigma per axis in voxels.
void smooth(Context& ctx, DisplacementField& field, const Eigen::Vector3d& sigma_voxels,
            Smoother smoother = Smoother::automatic);
void smooth(Context& ctx, Volume<float>& image, const Eigen::Vector3d& sigma_voxels,
            Smoother smoother = Smoother::automatic);

}  // namespace freeflow
