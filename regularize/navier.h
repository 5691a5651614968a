// The velocity of a viscous fluid under a force (Christensen, Rabbitt and Miller 1996): the
// solution of the Navier-Cauchy equation
//   mu lap v + (mu + lambda) grad div v = -f
// in millimetres, per axis with its own voxel side. The operator is the discrete one: second
// differences on the diagonal of lap, central first differences in grad and div. On a circle of
// voxels it is a symmetric 3 x 3 matrix per frequency, a I + b s s^T, which is inverted in closed
// form.
// Boundary: the force is 0 beyond the grid, which is padded by a quarter and closed to a torus. The
// torus determines v but for its mean and takes only a force whose mean is 0, so f - mean(f)
// drives, and v is brought to rest in the middle of the padding, as far from the image as it goes.
// The grid's border may move. On a GPU by cuFFT (core/fft.h): CPU and GPU differ by the rounding of
// float transforms, about 1e-5 of the largest velocity.
#pragma once

#include <array>

#include <freeflow/core/buffer.h>
#include <freeflow/core/fft.h>
#include <freeflow/core/geometry.h>
#include <freeflow/regularize/fft_padding.h>

namespace freeflow {

/// Lame's constants of the fluid. Only their ratio matters to what is scaled afterwards. lambda =
/// -mu leaves the Laplacian alone.
struct Viscosity {
  double mu = 1, lambda = 1;
  /// Throws InvalidArgument unless mu >= 1e-6 (floats must hold it), mu + lambda >= 0 and both are
  /// at most 1e6.
  void validate() const;
};

class NavierVelocity {
 public:
  /// Allocates the padded field and its transform. Throws InvalidArgument for an unusable
  /// viscosity.
  NavierVelocity(Context& ctx, const Geometry& grid, const Viscosity& viscosity);

  /// force: -dE/du per voxel, u in voxels, as the measures give it (per mm of motion: divided by
  /// the voxel side). velocity: in the same way (divided by the side squared it is in voxels), so
  /// that it stands in for a smoothed force. The two may be one. Neither allocates nor waits.
  void apply(Context& ctx, FieldView<const float> force, FieldView<float> velocity) const;

  /// The torus.
  Extent torus() const { return padding_.size; }

 private:
  Padding padding_;
  Vec3f spacing_;
  float mu_, lambda_;
  std::array<Buffer<float>, 3> sine_,
      second_;  // per frequency of an axis: sin(w) / h, (2 - 2 cos w) / h^2
  Buffer<float> field_;
  RealFft transform_;
};

}  // namespace freeflow
