// Fourier transforms of the emulated device are those of the CPU: cuFFT is nothing of ours to test.
#include <freeflow/core/fft_plan.h>

namespace freeflow {

std::unique_ptr<RealFft::Plan> make_fft_plan(Context& ctx, backend::Cuda, Extent n, int batch) {
  return make_fft_plan(ctx, backend::Cpu{1}, n, batch);
}

}  // namespace freeflow
