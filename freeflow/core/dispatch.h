// Private: chooses the backend at run time. The only #if of the library that knows whether CUDA was built.
#pragma once

#include <freeflow/core/context.h>

namespace freeflow::backend {

struct Cpu {
  int threads = 1;
};

struct Cuda {
  void* stream = nullptr;
};

/// Calls f(Cpu) or f(Cuda); both overloads must exist where CUDA is built.
template <class F>
void dispatch(const Context& ctx, F&& f) {
#if FREEFLOW_CUDA
  if (ctx.device().is_cuda()) {
    detail::make_current(*ctx.state());
    f(Cuda{ctx.stream()});
    return;
  }
#endif
  f(Cpu{ctx.threads()});
}

}  // namespace freeflow::backend
