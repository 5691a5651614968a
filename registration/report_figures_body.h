// Private: the mathematics of report_figures.h.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>

namespace freeflow {

/// Length in mm of the displacement of a voxel, in double.
struct LengthOfDisplacement {
  FieldView<const float> u;
  double sides[3];
  FREEFLOW_HD double of(std::size_t i) const {
    const std::size_t n = u.extent.count();
    const double x = sides[0] * u.data[i], y = sides[1] * u.data[i + n],
                 z = sides[2] * u.data[i + 2 * n];
    return sqrt(fma_(x, x, fma_(y, y, z * z)));
  }
};

struct LengthSumBody : SumBody {
  LengthOfDisplacement length;
  FREEFLOW_HD double operator()(std::size_t i, int) const { return length.of(i); }
};

struct LargestLengthBody : MaxBody {
  LengthOfDisplacement length;
  FREEFLOW_HD double operator()(std::size_t i, int) const { return length.of(i); }
};

/// Every stride-th voxel's.
struct SomeLengthsBody {
  LengthOfDisplacement length;
  std::size_t stride;
  double* out;
  FREEFLOW_HD void operator()(int i, int, int) const {
    out[i] = length.of(std::size_t(i) * stride);
  }
};

}  // namespace freeflow
