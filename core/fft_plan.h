// Private: a backend's side of fft.h.
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/core/fft.h>

namespace freeflow {

class RealFft::Plan {
 public:
  virtual ~Plan() = default;
  virtual void forward(float* volumes) = 0;
  virtual void inverse(float* volumes) = 0;
};

std::unique_ptr<RealFft::Plan> make_fft_plan(Context& ctx, backend::Cpu, Extent n, int batch);
std::unique_ptr<RealFft::Plan> make_fft_plan(Context& ctx, backend::Cuda, Extent n, int batch);

}  // namespace freeflow
