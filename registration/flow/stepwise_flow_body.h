// Private: the mathematics of stepwise_flow.h.
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/deform/field_operations_body.h>

namespace freeflow {

/// A velocity is given per voxel; its length counts in smallest voxel sides. A component in voxels
/// becomes one of steepest descent per mm by the weight (smallest side / its side)^2, and a length
/// by the root of that.
struct FlowVelocity {
  FieldView<const float> v;
  float per_side[3];  // smallest side / side
};

/// Terms: the squared speed in double, so that a force of 1e-20 still counts, and the voxels that
/// move.
struct FlowSpeedBody : SumBody {
  FlowVelocity velocity;
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    const std::size_t n = velocity.v.extent.count();
    double squared = 0;
    for (int c = 0; c < 3; ++c) {
      const double a = double(velocity.per_side[c]) * velocity.v.data[i + c * n];
      squared = fma_(a, a, squared);
    }
    return term == 0 ? squared : squared > 0 ? 1.0 : 0.0;
  }
};

/// What brings the root mean square of the moving voxels' speeds to `speed`; without sums: 1.
struct FlowScaleBody {
  const double* sums;
  double speed;
  float* scale;
  FREEFLOW_HD void operator()(int, int, int) const {
    *scale = !sums ? 1.0f : sums[0] > 0 ? float(speed / sqrt(sums[0] / sums[1])) : 0.0f;
  }
};

/// The motion of one iteration in voxels: the scaled velocity, bent so that no voxel moves farther
/// than the step: d / sqrt(1 + |d|^2 / step^2).
struct FlowMotion {
  FlowVelocity velocity;
  const float* scale;
  float per_step;  // 1 / step in smallest sides; 0: as it is

  FREEFLOW_HD void at(std::size_t i, float d[3]) const {
    const std::size_t n = velocity.v.extent.count();
    const float t = *scale;
    float a[3];  // in smallest sides
    for (int c = 0; c < 3; ++c) a[c] = t * velocity.v.data[i + c * n] * velocity.per_side[c];
    const float excess = per_step * per_step * fma_(a[0], a[0], fma_(a[1], a[1], a[2] * a[2])),
                bend = 1.0f / sqrtf(1.0f + excess);
    for (int c = 0; c < 3; ++c) d[c] = bend * a[c] * velocity.per_side[c];
  }
};

/// out(x) = d + u(x + d).
struct FlowComposeBody {
  FlowMotion motion;
  FieldView<const float> u;
  FieldView<float> out;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = u.extent.count(), i = u.extent.offset(x, y, z);
    float d[3];
    motion.at(i, d);
    const CellOnAxis cx = locate(float(x) + d[0], u.extent.x),
                     cy = locate(float(y) + d[1], u.extent.y),
                     cz = locate(float(z) + d[2], u.extent.z);
    for (int c = 0; c < 3; ++c)
      out.data[i + c * n] = d[c] + interpolate(fetch_cell(u.data + c * n, u.extent, cx, cy, cz),
                                               cx.fraction, cy.fraction, cz.fraction);
  }
};

/// Half of what pulls forth and back, in place.
struct FlowDifferenceBody {
  FieldView<float> forth;
  FieldView<const float> back;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = forth.extent.count(), i = forth.extent.offset(x, y, z);
    for (int c = 0; c < 3; ++c)
      forth.data[i + c * n] = 0.5f * (forth.data[i + c * n] - back.data[i + c * n]);
  }
};

/// out(x) = v(x) + d: the composition in the logarithm, to first order.
struct FlowAddBody {
  FlowMotion motion;
  FieldView<const float> v;
  FieldView<float> out;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t n = v.extent.count(), i = v.extent.offset(x, y, z);
    float d[3];
    motion.at(i, d);
    for (int c = 0; c < 3; ++c) out.data[i + c * n] = v.data[i + c * n] + d[c];
  }
};

}  // namespace freeflow
