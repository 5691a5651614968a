// Private: the mathematics of packed_field.h.
#pragma once

#include <cstdint>

#include <freeflow/core/portable_math.h>
#include <freeflow/core/views.h>

namespace freeflow {

/// Over all planes at once: z counts through them.
struct PackBody {
  const float* field;
  std::int16_t* multiples;
  Extent planes;
  float units;  // per voxel
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t i = planes.offset(x, y, z);
    const float v = is_finite(field[i]) ? field[i] * units : 0.0f;
    multiples[i] = std::int16_t(v < 0 ? v - 0.5f : v + 0.5f);
  }
};

struct UnpackBody {
  const std::int16_t* multiples;
  float* field;
  Extent planes;
  float unit;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t i = planes.offset(x, y, z);
    field[i] = unit * float(multiples[i]);
  }
};

}  // namespace freeflow
