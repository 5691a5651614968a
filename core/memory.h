// How much memory is left, and whether work fits into it.
#pragma once

#include <cstddef>
#include <string>

#include <freeflow/core/context.h>

namespace freeflow {

/// Bytes of a context's device that nobody uses: of a GPU, or what Linux says is available to new
/// programs of the host.
std::size_t free_bytes(const Context& ctx);
/// The same of the host, whatever the context; the largest number where the system does not say.
std::size_t free_host_bytes();

/// Throws DeviceError when `needed` bytes are not there: "WHAT needs about N MiB of cuda:0's
/// memory, M MiB are free; MEND".
void require_free(const Context& ctx, std::size_t needed, const std::string& what,
                  const std::string& mend);
void require_free_host(std::size_t needed, const std::string& what, const std::string& mend);

}  // namespace freeflow
