// Private: the mathematics of symmetric_kl.h.
#pragma once

#include <cmath>

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>
#include <freeflow/deform/field_operations_body.h>
#include <freeflow/regularize/symmetric_kl.h>

namespace freeflow {

/// One evaluation of the force.
struct KlForce {
  FieldView<const float> u;
  FieldView<float> force;
  float scale;         // weight / voxels
  bool add;            // to what the force holds
  std::size_t voxels;  // of the extent, multiplied once

  FREEFLOW_HD void store(std::size_t i, float sum) const {
    force.data[i] = add ? fma_(scale, sum, force.data[i]) : scale * sum;
  }
  /// All three components of voxel i.
  FREEFLOW_HD void store(std::size_t i, const float sum[3]) const {
    float* at = force.data + i;
    if (add)
      for (int c = 0; c < 3; ++c) at[c * voxels] = fma_(scale, sum[c], at[c * voxels]);
    else
      for (int c = 0; c < 3; ++c) at[c * voxels] = scale * sum[c];
  }
};

/// Twice what a difference (up - down, indices clamped to the grid) is multiplied by: central
/// inside, one-sided at the border.
FREEFLOW_HD float difference_scale(int i, int n) {
  return n == 1 ? 0.0f : i <= 0 || i >= n - 1 ? 2.0f : 1.0f;
}

/// L' = 1 + log J - 1 / J; NaN for a fold, and beyond what a quotient is exact for.
FREEFLOW_HD float kl_slope(float j) {
  const float slope = log_positive(j) + divided(j - 1.0f, j);
  return is_moderate(j) ? slope : NAN;
}

/// q[c][a] = s[a] / 2 L' dJ / d(d_a u_c) from the differences d[c][a]. The force of component c
/// sums over the axes (first x + y, then z) the flux of the voxel above less that of the voxel
/// below; beyond the border a flux is minus the border's own: the transposed one-sided difference.
/// All is computed from twice the gradient, so that inside the volume, where s is 1, nothing is
/// multiplied by a half.
FREEFLOW_HD void kl_flux(const float d[3][3], const float s[3], float q[3][3]) {
  float g[3][3];  // twice the gradient of x + u
  for (int c = 0; c < 3; ++c)
    for (int a = 0; a < 3; ++a) g[c][a] = c == a ? fma_(s[a], d[c][a], 2.0f) : s[a] * d[c][a];
  for (int c = 0; c < 3; ++c) {                                // four times the cofactors
    const int i = c == 2 ? 0 : c + 1, j = c == 0 ? 2 : c - 1;  // the other rows, in cyclic order
    q[c][0] = fma_(g[i][1], g[j][2], -(g[i][2] * g[j][1]));
    q[c][1] = fma_(g[i][2], g[j][0], -(g[i][0] * g[j][2]));
    q[c][2] = fma_(g[i][0], g[j][1], -(g[i][1] * g[j][0]));
  }
  const float jacobian = 0.125f * fma_(g[0][0], q[0][0], fma_(g[0][1], q[0][1], g[0][2] * q[0][2]));
  const float slope = kl_slope(jacobian);
  for (int a = 0; a < 3; ++a) {
    const float factor = slope * (0.125f * s[a]);
    for (int c = 0; c < 3; ++c) q[c][a] *= factor;
  }
}

/// The energy's summand; NaN poisons the sum.
struct KlEnergyBody : SumBody {
  FieldView<const float> u;
  float smallest_jacobian;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    const Extent n = u.extent;
    const float j =
        jacobian_at(u, int(i % n.x), int(i / n.x % n.y), int(i / (std::size_t(n.x) * n.y)));
    return j >= smallest_jacobian ? (double(j) - 1.0) * log_positive(double(j)) : double(NAN);
  }
};

struct KlMeanBody {
  const double* sum;
  double voxels;
  double* mean;
  FREEFLOW_HD void operator()(int, int, int) const { *mean = *sum / voxels; }
};

/// The CPU's force; `windows` holds kl_window_floats(n) per thread.
std::size_t kl_window_floats(Extent n);
void kl_force(backend::Cpu cpu, const KlForce& body, KlKernel, BlockShape, float* windows);
void kl_force(backend::Cuda cuda, const KlForce& body, KlKernel kernel, BlockShape shape, float*);

/// The shapes that are built, once.
#define FREEFLOW_KL_SHAPES(X) \
  X(32, 4) X(32, 8) X(32, 16) X(32, 32) X(64, 4) X(64, 8) X(64, 16) X(16, 16)

KlKernelResources kl_resources(backend::Cuda cuda, KlKernel kernel, BlockShape shape);
inline KlKernelResources kl_resources(backend::Cpu, KlKernel, BlockShape) { return {}; }

}  // namespace freeflow
