// Private: loops of the CPU that are compiled twice, for AVX2 as everything is and for AVX-512,
// which the machine at hand takes where it can. Both do the same operations on each element, so the
// bits are the same.
#pragma once

namespace freeflow {

/// Whether the CPU's loops run by AVX-512: where the machine has F, BW, DQ and VL of it and glibc
/// was not told to leave it alone (GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F).
bool uses_avx512();

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__AVX512F__)

namespace detail {
// Flattened: what is called instead of inlined would stay AVX2.
template <class Work>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl"), gnu::flatten, gnu::noinline]] void
run_with_avx512(const Work& work) {
  work();
}
}  // namespace detail

/// Calls work() once, by the widest vectors there are; worth it from a few hundred operations on.
template <class Work>
void simd_dispatch(const Work& work) {
  uses_avx512() ? detail::run_with_avx512(work) : work();
}

#else

template <class Work>
void simd_dispatch(const Work& work) {
  work();
}

#endif

}  // namespace freeflow
