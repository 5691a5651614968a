// Whether a deformation grows more than it shrinks: the distribution of its log-Jacobian with
// sampling errors. Neighbouring voxels know of each other, so the errors come from blocks of voxels
// that hardly do, by the jackknife.
#pragma once

#include <freeflow/deform/displacement_field.h>

namespace freeflow {

struct JacobianBias {
  double mean = 0, sd = 0, skewness = 0;      ///< of log J over the voxels inside the margin
  double mean_error = 0, skewness_error = 0;  ///< standard errors
};

/// Over all voxels but `margin` at each border, in blocks of `block` voxels per axis. Copies to the
/// host. Throws InvalidArgument where fewer than eight blocks fit, or a determinant is not
/// positive.
JacobianBias jacobian_bias(Context& ctx, const DisplacementField& u, int block = 16,
                           int margin = 4);

/// Pearson's correlation of two deformations' log-Jacobians over the same voxels: -1 where one
/// undoes the other's growth.
double log_jacobian_correlation(Context& ctx, const DisplacementField& u,
                                const DisplacementField& v, int margin = 4);

}  // namespace freeflow
