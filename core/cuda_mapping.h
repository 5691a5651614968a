// Private: device memory at one range of addresses whose parts lie on several GPUs, each of which
// reads and writes all of it (CUDA's virtual memory management). cuda_mapping.cpp, or what stands
// in for it where there is no CUDA.
#pragma once

#include <cstddef>
#include <vector>

#include <freeflow/core/device.h>
#include <freeflow/core/stripes.h>

namespace freeflow::cuda_mapping {

/// Lets the device's GPUs read each other's memory, and makes the first current. Throws DeviceError
/// where they cannot.
void connect(const Device&);
/// A stripe is a whole number of pages.
std::size_t page_bytes(const Device&);
/// Null where the memory does not suffice.
void* map(const Device&, const std::vector<Stripe>&);
/// Nobody must use it any more.
void unmap(void* pointer, const std::vector<Stripe>&) noexcept;

}  // namespace freeflow::cuda_mapping
