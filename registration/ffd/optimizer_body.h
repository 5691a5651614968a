// Private: the vector arithmetic of optimizer.h.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>
#include <freeflow/registration/ffd/descent_direction.h>

namespace freeflow {

/// A vector is walked as rows of equal length, those of three planes in turn, which several GPUs
/// can be dealt.
struct VectorRows {
  static constexpr unsigned planes = 3;
  std::size_t length;
  FREEFLOW_HD std::size_t operator()(int i, int row) const {
    return std::size_t(row) * length + std::size_t(i);
  }
};

/// direction = sum of coefficient[b] * vector b.
struct CombineBody {
  static constexpr unsigned stacked_planes = VectorRows::planes;
  VectorRows at;
  const float* vectors;
  std::size_t size;
  float coefficient[VectorSlots::count];
  float* direction;
  FREEFLOW_HD void operator()(int x, int, int row) const {
    const std::size_t i = at(x, row);
    float sum = 0;
    for (int b = 0; b < VectorSlots::count; ++b)
      if (coefficient[b] != 0) sum = fma_(coefficient[b], vectors[b * size + i], sum);
    direction[i] = sum;
  }
};

struct StepBody {
  static constexpr unsigned stacked_planes = VectorRows::planes;
  VectorRows at;
  const float *x, *direction;
  float t;
  float* trial;
  FREEFLOW_HD void operator()(int column, int, int row) const {
    const std::size_t i = at(column, row);
    trial[i] = fma_(t, direction[i], x[i]);
  }
};

/// The step taken and the force's change, into their slots.
struct HistoryBody {
  static constexpr unsigned stacked_planes = VectorRows::planes;
  VectorRows at;
  const float *direction, *old_force, *new_force;
  float t;
  float *step, *change;
  FREEFLOW_HD void operator()(int x, int, int row) const {
    const std::size_t i = at(x, row);
    step[i] = t * direction[i];
    change[i] = old_force[i] - new_force[i];
  }
};

/// Inner products of the first three vectors with all: term t is that of t % rows and t / rows.
/// Vectors that are not asked for may be any, but must be there.
struct DotBody : SumBody {
  static constexpr unsigned stacked_planes = VectorRows::planes;
  static constexpr int rows = 3, vectors = 2 * VectorSlots::history + 1, together = rows * vectors;
  const float* vector[vectors];
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    return double(vector[term % rows][i]) * double(vector[term / rows][i]);
  }
};

struct LargestBody : MaxBody {
  static constexpr unsigned stacked_planes = VectorRows::planes;
  const float* vector;
  FREEFLOW_HD double operator()(std::size_t i, int) const {
    const double v = vector[i];
    return v < 0 ? -v : v;
  }
};

}  // namespace freeflow
