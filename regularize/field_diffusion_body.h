// Private: the mathematics of field_diffusion.h. A voxel's conductance is that of its three faces
// to the next voxels, so what leaves a voxel through a face enters the other.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/views.h>

namespace freeflow {

struct ConductanceBody {
  FieldView<const float> u;
  float per_slope;  // 1 / e^2
  float* conductance;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = u.extent;
    const std::size_t count = n.count(), i = n.offset(x, y, z), row = n.x, slice = row * n.y;
    float sum = 1;
    for (int c = 0; c < 3; ++c) {
      const float* p = u.data + c * count + i;
      const float dx = x + 1 < n.x ? p[1] - p[0] : 0.0f, dy = y + 1 < n.y ? p[row] - p[0] : 0.0f,
                  dz = z + 1 < n.z ? p[slice] - p[0] : 0.0f;
      sum = fma_(per_slope * dx, dx, sum);
      sum = fma_(per_slope * dy, dy, sum);
      sum = fma_(per_slope * dz, dz, sum);
    }
    conductance[i] = 1.0f / sum;
  }
};

struct DiffusionBody {
  FieldView<const float> u;
  const float* conductance;
  float time[3];  // t along each axis
  FieldView<float> out;

  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const Extent n = u.extent;
    const std::size_t count = n.count(), i = n.offset(x, y, z), row = n.x, slice = row * n.y;
    const float* const g = conductance + i;
    const float after_x = time[0] * g[0], before_x = x > 0 ? time[0] * *(g - 1) : 0.0f,
                after_y = time[1] * g[0], before_y = y > 0 ? time[1] * *(g - row) : 0.0f,
                after_z = time[2] * g[0], before_z = z > 0 ? time[2] * *(g - slice) : 0.0f;
    for (int c = 0; c < 3; ++c) {
      const float* p = u.data + c * count + i;
      const float v = p[0];
      float sum = v;
      sum = fma_(after_x, x + 1 < n.x ? p[1] - v : 0.0f, sum);
      sum = fma_(after_y, y + 1 < n.y ? p[row] - v : 0.0f, sum);
      sum = fma_(after_z, z + 1 < n.z ? p[slice] - v : 0.0f, sum);
      sum = fma_(before_x, x > 0 ? *(p - 1) - v : 0.0f, sum);
      sum = fma_(before_y, y > 0 ? *(p - row) - v : 0.0f, sum);
      sum = fma_(before_z, z > 0 ? *(p - slice) - v : 0.0f, sum);
      out.data[c * count + i] = sum;
    }
  }
};

}  // namespace freeflow
