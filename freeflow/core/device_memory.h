// How much memory is left.
#pragma once

#include <cstddef>

#include <freeflow/core/context.h>

namespace freeflow {

/// Bytes of a GPU that nobody uses; without limit on the CPU, which pages.
std::size_t free_bytes(const Context& ctx);

}  // namespace freeflow
