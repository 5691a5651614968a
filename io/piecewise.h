// Private to io: bytes for a file, made in pieces on several threads and written in their order.
#pragma once

#include <omp.h>

#include <cstddef>
#include <functional>

#include <freeflow/core/parallel_errors.h>

namespace freeflow {

/// Puts `count` of the bytes to be written, from `offset` on, to `target`. Several threads call it;
/// both numbers are multiples of four where the whole is.
using ByteMaker = std::function<void(std::size_t offset, std::size_t count, unsigned char* target)>;

/// So many keep up with a file that takes 3 GB/s, of bytes that are deflated fast or not at all.
constexpr int writing_threads = 8;

/// make(i, thread) of every i < pieces, on threads that are counted from 0, and write(i, thread) of
/// one after the other in their order, each by the thread that has made it: the others make theirs
/// meanwhile. Throws what one of them threw; no piece is written after one that was not.
template <class Make, class Write>
void in_order(std::size_t pieces, int threads, const Make& make, const Write& write) {
  ParallelErrors errors;
#pragma omp parallel for ordered schedule(dynamic) num_threads(threads)
  for (std::size_t i = 0; i < pieces; ++i) {
    const auto thread = std::size_t(omp_get_thread_num());
    errors.run([&] { make(i, thread); });
#pragma omp ordered
    errors.run([&] { write(i, thread); });
  }
  errors.rethrow();
}

}  // namespace freeflow
