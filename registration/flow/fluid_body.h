// Private: the mathematics of fluid.h.
#pragma once

#include <freeflow/registration/flow/stepwise_flow_body.h>

namespace freeflow {

/// rate(x) = v + grad u v in voxels; u without data is 0.
struct FluidRateBody {
  FlowVelocity velocity;
  FieldView<const float> u;
  FieldView<float> rate;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent e = rate.extent;
    const std::size_t n = e.count(), i = e.offset(x, y, z);
    float v[3];
    for (int c = 0; c < 3; ++c)
      v[c] = velocity.per_side[c] * velocity.per_side[c] * velocity.v.data[i + c * n];
    for (int c = 0; c < 3; ++c) {
      float r = v[c];
      if (u.data)
        for (int a = 0; a < 3; ++a) r = fma_(derivative(u.plane(c), x, y, z, a), v[a], r);
      rate.data[i + c * n] = r;
    }
  }
};

/// The largest of all rates, in smallest voxel sides.
struct FluidSpeedBody : MaxBody {
  FieldView<const float> rate;
  float sides[3];  // side / smallest side
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    const std::size_t n = rate.extent.count();
    double squared = 0;
    for (int c = 0; c < 3; ++c) {
      const double a = double(sides[c]) * rate.data[i + c * n];
      squared = fma_(a, a, squared);
    }
    return sqrt(squared);
  }
};

/// The time step that moves the fastest voxel by `step`; 0 where nothing moves.
struct FluidTimeStepBody {
  const double* fastest;
  double step;
  float* dt;
  FREEFLOW_HD void operator()(int, int, int) const {
    *dt = *fastest > 0 ? float(step / *fastest) : 0.0f;
  }
};

/// Turns the rate, in place, into u + dt rate; u without data is 0.
struct FluidStepBody {
  FieldView<const float> u;
  const float* dt;
  FieldView<float> rate;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent e = rate.extent;
    const std::size_t n = e.count(), i = e.offset(x, y, z);
    for (int c = 0; c < 3; ++c)
      rate.data[i + c * n] = fma_(*dt, rate.data[i + c * n], u.data ? u.data[i + c * n] : 0.0f);
  }
};

/// How far the smallest determinant lies below 1.
struct FluidShrinkingBody : MaxBody {
  FieldView<const float> u;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    const Extent n = u.extent;
    const float j =
        jacobian_at(u, int(i % n.x), int(i / n.x % n.y), int(i / (std::size_t(n.x) * n.y)));
    return j < 1.0f ? 1.0 - double(j) : 0.0;
  }
};

}  // namespace freeflow
