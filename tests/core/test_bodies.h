// Bodies that the tests run through the loops of core/.
#pragma once

#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>
#include <freeflow/core/views.h>

namespace freeflow::test {

struct CountVisits {
  VolumeView<float> out;
  FREEFLOW_HD void operator()(int x, int y, int z) const { out(x, y, z) += 1; }
};

struct Logarithm {
  const float* values;
  VolumeView<double> out;
  FREEFLOW_HD void operator()(int x, int, int) const { out(x, 0, 0) = log_positive(double(values[x])); }
};

struct SumAndSquares : SumBody {
  const float* v;
  FREEFLOW_HD double operator()(std::size_t i, int term) const { return term ? double(v[i]) * v[i] : v[i]; }
};

}  // namespace freeflow::test
