#include <freeflow/core/simd_dispatch.h>

// As the header has it, g++ alone; and glibc since 2.33.
#if defined(__x86_64__) && !defined(__clang__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define FREEFLOW_CPU_HAS(feature) CPU_FEATURE_ACTIVE(feature)
#else
#define FREEFLOW_CPU_HAS(feature) false
#endif

namespace freeflow {

bool uses_avx512() {
  static const bool uses = FREEFLOW_CPU_HAS(AVX512F) && FREEFLOW_CPU_HAS(AVX512BW) &&
                           FREEFLOW_CPU_HAS(AVX512DQ) && FREEFLOW_CPU_HAS(AVX512VL);
  return uses;
}

}  // namespace freeflow
