// Whether work with a chain of transforms fits into memory, asked before anything is uploaded.
#pragma once

#include <functional>
#include <string>

#include <apps/regtool/commands.h>

namespace freeflow::apps {

/// Of a displacement field on a grid, and of the largest in a chain.
std::size_t field_bytes(const Geometry& grid);
std::size_t largest_field_bytes(const HostChain& chain);

/// What is done with a chain on a device.
using ChainWork = std::function<void(Context&, const Transform&)>;

/// Rehearses making the chain and then `work`, and throws DeviceError, saying how much is needed,
/// how much is free and what to do, where they do not fit; `result_bytes` is what comes back to the
/// host and is written. `what` begins the sentence: "composing the transforms".
void require_chain_memory(const Context& ctx, const HostChain& chain, const std::string& what,
                          std::size_t result_bytes, const ChainWork& work);

}  // namespace freeflow::apps
