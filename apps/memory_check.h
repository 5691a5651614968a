// Whether a run fits into memory, asked before anything is uploaded.
#pragma once

#include <freeflow/core/context.h>
#include <freeflow/core/geometry.h>

namespace freeflow::apps {

/// Host memory at most, in bytes, while the results of a nonrigid registration are written, beside
/// the inputs: both fields as they come and in millimetres at the same time, or one after the other
/// as `whole` transforms, in doubles, beside the warped images.
std::size_t nonrigid_writing_bytes(const Geometry& fixed, const Geometry& moving, bool whole);
/// The same of a linear one: both warped images.
std::size_t linear_writing_bytes(const Geometry& fixed, const Geometry& moving);

/// Throws DeviceError, saying how much is needed, how much is free and what to do, where the work
/// does not fit: `predicted` bytes of the device, and then `writing` bytes of the host.
void require_memory(const Context& ctx, std::size_t predicted, std::size_t writing);

}  // namespace freeflow::apps
