// How a program leaves its GPUs early.
#pragma once

#include <freeflow/core/device.h>

namespace freeflow {

/// Gives a device's GPUs back to the system with all that this process has there, which takes a
/// tenth of a second that the end of the process would take otherwise: for a program that still has
/// files to write. No context, volume or buffer of theirs may be left. Does nothing for the CPU.
void release_device(const Device& device) noexcept;

}  // namespace freeflow
