// Private: the vector arithmetic of optimizer.h.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>
#include <freeflow/registration/ffd/descent_direction.h>

namespace freeflow {

/// direction = sum of coefficient[b] * vector b.
struct CombineBody {
  const float* vectors;
  std::size_t size;
  float coefficient[VectorSlots::count];
  float* direction;
  FREEFLOW_HD void operator()(int i, int, int) const {
    float sum = 0;
    for (int b = 0; b < VectorSlots::count; ++b)
      if (coefficient[b] != 0) sum = fma_(coefficient[b], vectors[b * size + i], sum);
    direction[i] = sum;
  }
};

struct StepBody {
  const float *x, *direction;
  float t;
  float* trial;
  FREEFLOW_HD void operator()(int i, int, int) const { trial[i] = fma_(t, direction[i], x[i]); }
};

/// The step taken and the force's change, into their slots.
struct HistoryBody {
  const float *direction, *old_force, *new_force;
  float t;
  float *step, *change;
  FREEFLOW_HD void operator()(int i, int, int) const {
    step[i] = t * direction[i];
    change[i] = old_force[i] - new_force[i];
  }
};

/// Inner products of chosen pairs of stored vectors.
struct DotBody : SumBody {
  static constexpr int max_pairs = 3 * VectorSlots::count;
  const float* vectors;
  std::size_t size;
  unsigned char first[max_pairs], second[max_pairs];
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    return double(vectors[first[term] * size + i]) * double(vectors[second[term] * size + i]);
  }
};

struct LargestBody : MaxBody {
  const float* vector;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    const double v = vector[i];
    return v < 0 ? -v : v;
  }
};

}  // namespace freeflow
