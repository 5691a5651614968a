#include <freeflow/core/gpu_group.h>

#include <algorithm>

#include <freeflow/core/cuda_mapping.h>
#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>

namespace freeflow {

GpuGroup::GpuGroup(const Device& device, void* first_stream)
    : device_(device), streams_{first_stream} {
  cuda_mapping::require_peers(device);
  for (int gpu = 0; gpu < device.count; ++gpu) {
    if (gpu > 0) streams_.push_back(cuda_runtime::create_stream(device.index + gpu));
    events_.push_back(cuda_runtime::create_event(device.index + gpu));
  }
  make_current(0);
}

GpuGroup::~GpuGroup() {
  for (int gpu = 1; gpu < size(); ++gpu) cuda_runtime::destroy_stream(stream(gpu));
  for (void* event : events_) cuda_runtime::destroy_event(event);
}

void GpuGroup::make_current(int gpu) const { cuda_runtime::make_current(device_.index + gpu); }

void GpuGroup::make_first_current() const noexcept {
  try {
    make_current(0);
  } catch (const DeviceError&) {  // the GPU is lost: the next call says so
  }
}

void GpuGroup::fork() const {
  cuda_runtime::record(events_[0], streams_[0]);
  for (int gpu = 1; gpu < size(); ++gpu) cuda_runtime::wait(stream(gpu), events_[0]);
}

void GpuGroup::join() const {
  for (int gpu = 1; gpu < size(); ++gpu) {
    cuda_runtime::record(events_[std::size_t(gpu)], stream(gpu));
    cuda_runtime::wait(streams_[0], events_[std::size_t(gpu)]);
  }
}

void* GpuGroup::allocate(std::size_t bytes, const Planes& planes) {
  std::vector<Stripe> stripes =
      stripes_of(bytes, planes, size(), cuda_mapping::page_bytes(device_));
  void* const pointer = cuda_mapping::map(device_, stripes);
  if (!pointer) cuda_runtime::throw_out_of_memory(bytes, free_bytes(), device_.name());
  const std::lock_guard lock(turn_);
  memory_.emplace(pointer, std::move(stripes));
  return pointer;
}

bool GpuGroup::deallocate(void* pointer) noexcept {
  const std::lock_guard lock(turn_);
  const auto found = memory_.find(pointer);
  if (found == memory_.end()) return false;
  cuda_mapping::unmap(pointer, found->second, streams_[0]);
  memory_.erase(found);
  return true;
}

std::size_t GpuGroup::free_bytes() const {
  std::size_t least_free = ~std::size_t(0);
  for (int gpu = 0; gpu < size(); ++gpu) {
    make_current(gpu);
    least_free = std::min(least_free, cuda_runtime::free_bytes(nullptr));
  }
  make_current(0);
  return least_free * std::size_t(size());
}

}  // namespace freeflow
