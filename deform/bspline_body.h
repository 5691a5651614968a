// Private: the uniform cubic B-spline and its derivatives (Rueckert 1999; Unser 1999), once for CPU
// and CUDA.
#pragma once

#include <freeflow/core/portable_math.h>

namespace freeflow {

/// Weights of the four coefficients around a point at fraction t in [0, 1] of a knot interval; they
/// sum to 1.
template <class T>
FREEFLOW_HD void bspline_weights(T t, T w[4]) {
  const T s = 1 - t, sixth = T(1) / 6;
  w[0] = s * s * s * sixth;
  w[1] = (T(4) + t * t * (T(3) * t - T(6))) * sixth;
  w[2] = (T(4) + s * s * (T(3) * s - T(6))) * sixth;
  w[3] = t * t * t * sixth;
}

/// First derivatives of the weights with respect to t.
template <class T>
FREEFLOW_HD void bspline_weight_derivatives(T t, T w[4]) {
  const T s = 1 - t;
  w[0] = T(-0.5) * s * s;
  w[1] = t * (T(1.5) * t - T(2));
  w[2] = -s * (T(1.5) * s - T(2));
  w[3] = T(0.5) * t * t;
}

}  // namespace freeflow
