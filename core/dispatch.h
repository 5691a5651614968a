// Chooses the backend at run time. The only #if of the library that knows whether CUDA was built.
//
// A source file that a C++ compiler builds has kernels for the CPU alone, unless it is one of the
// library's own, whose CUDA kernels are in the library. Elsewhere, for a kernel of one's own to run
// on a GPU, nvcc must build the file that starts it, with for_each_voxel.cuh or reduce.cuh
// included; else it is refused on a GPU with a sentence.
#pragma once

#include <utility>

#include <freeflow/core/context.h>
#include <freeflow/core/error.h>

namespace freeflow::backend {

struct Cpu {
  int threads = 1;
};

struct Cuda {
  void* stream = nullptr;
  const GpuGroup* group = nullptr;  ///< the GPUs that share the work, null for one
  int gpus = 1;                     ///< how many that are, in a rehearsal too
};

/// Calls f(Cpu) or f(Cuda), in a rehearsal too: for what finds out sizes and allocates.
template <class F>
void dispatch_always(const Context& ctx, F&& f) {
  if (!ctx.device().is_cuda()) return f(Cpu{ctx.threads()});
#if FREEFLOW_CUDA || defined(__CUDACC__)
  const detail::CurrentDevice current(*ctx.state());
  f(Cuda{ctx.stream(), ctx.group(), ctx.sharing()});
#else
  throw InvalidArgument(
      "this operation was built for the CPU alone: build the file that calls it with nvcc, or take "
      "a context of the CPU");
#endif
}

/// Calls f(Cpu) or f(Cuda); both overloads must exist where CUDA is built. Nothing in a rehearsal.
template <class F>
void dispatch(const Context& ctx, F&& f) {
  if (!ctx.rehearses()) dispatch_always(ctx, std::forward<F>(f));
}

}  // namespace freeflow::backend
