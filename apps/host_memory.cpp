#include <apps/host_memory.h>

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace freeflow::apps {

void keep_freed_memory([[maybe_unused]] const Context& ctx) {
#ifdef __GLIBC__
  if (ctx.device().is_cuda()) return;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that glibc takes
  mallopt(M_TRIM_THRESHOLD, -1);        // the heap's end is never given back
#endif
}

}  // namespace freeflow::apps
