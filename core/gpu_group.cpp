#include <freeflow/core/gpu_group.h>

#include <algorithm>
#include <utility>

#include <freeflow/core/cuda_mapping.h>
#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>

namespace freeflow {

GpuGroup::GpuGroup(const Device& device, void* first_stream, void* first_pool) : GpuGroup(device) {
  streams_.push_back(first_stream);
  pools_.push_back(first_pool);
  for (int gpu = 0; gpu < device.count; ++gpu) {
    const int index = device.index + gpu;
    if (gpu > 0) {
      streams_.push_back(cuda_runtime::create_stream(index));
      pools_.push_back(cuda_runtime::create_pool(index, device.index, device.count));
    }
    events_.push_back(cuda_runtime::create_event(index));
  }
  make_current(0);
}

GpuGroup::~GpuGroup() {
  wait_for_all();
  give_back_spare();
  for (std::size_t gpu = 1; gpu < pools_.size(); ++gpu) cuda_runtime::destroy_pool(pools_[gpu]);
  for (std::size_t gpu = 1; gpu < streams_.size(); ++gpu)
    cuda_runtime::destroy_stream(streams_[gpu]);
  for (void* event : events_) cuda_runtime::destroy_event(event);
}

void GpuGroup::make_current(int gpu) const { cuda_runtime::make_current(device_.index + gpu); }

void GpuGroup::follow_first(int gpu) const {
  if (gpu == 0) return;
  cuda_runtime::record(events_[0], streams_[0]);
  cuda_runtime::wait(stream(gpu), events_[0]);
}

GpuGroup::Shared::Shared(const GpuGroup& group) : group_(group) {
  cuda_runtime::record(group.events_[0], group.streams_[0]);
  for (int gpu = 1; gpu < group.size(); ++gpu)
    cuda_runtime::wait(group.stream(gpu), group.events_[0]);
}

GpuGroup::Shared::~Shared() {
  if (joined_) return;
  try {
    join();
  } catch (const DeviceError&) {  // a GPU is lost: the next call says so
  }
}

void GpuGroup::Shared::join() {
  joined_ = true;
  group_.make_current(0);
  for (int gpu = 1; gpu < group_.size(); ++gpu) {
    void* const event = group_.events_[std::size_t(gpu)];
    cuda_runtime::record(event, group_.stream(gpu));
    cuda_runtime::wait(group_.streams_[0], event);
  }
}

void* GpuGroup::allocate(std::size_t bytes, const Planes& planes) {
  std::vector<Stripe> stripes =
      stripes_of(bytes, planes, size(), cuda_mapping::page_bytes(device_));
  const std::lock_guard lock(turn_);
  // Who had it before was queued before, and whatever is queued next comes after all of that.
  const auto alike = std::find_if(spare_.begin(), spare_.end(),
                                  [&](const auto& range) { return range.second == stripes; });
  if (alike != spare_.end())
    return const_cast<char*>(memory_.insert(spare_.extract(alike)).position->first);
  void* pointer = cuda_mapping::map(device_, stripes);
  if (!pointer) {
    unmap_spare();
    wait_for_all();
    for (void* pool : pools_) cuda_runtime::trim_pool(pool);
    pointer = cuda_mapping::map(device_, stripes);
  }
  if (!pointer) cuda_runtime::throw_out_of_memory(bytes, std::to_string(free_on_all() >> 20));
  memory_.emplace(static_cast<const char*>(pointer), std::move(stripes));
  return pointer;
}

bool GpuGroup::deallocate(void* pointer) noexcept {
  const std::lock_guard lock(turn_);
  const auto found = memory_.find(static_cast<const char*>(pointer));
  if (found == memory_.end()) return false;
  spare_.insert(memory_.extract(found));
  return true;
}

void GpuGroup::wait_for_all() const noexcept {
  for (void* stream : streams_) cuda_runtime::synchronize_quietly(stream);
}

bool GpuGroup::give_back_spare() noexcept {
  const std::lock_guard lock(turn_);
  const bool any = !spare_.empty();
  unmap_spare();
  return any;
}

void GpuGroup::unmap_spare() noexcept {
  if (spare_.empty()) return;
  wait_for_all();
  for (const auto& [begin, stripes] : spare_)
    cuda_mapping::unmap(const_cast<char*>(begin), stripes);
  spare_.clear();
}

const GpuGroup::Range* GpuGroup::range_of(const void* pointer) const {
  const auto* const at = static_cast<const char*>(pointer);
  const auto next = memory_.upper_bound(at);
  if (next == memory_.begin()) return nullptr;
  const Range& range = *std::prev(next);
  std::size_t bytes = 0;
  for (const Stripe& s : range.second) bytes += s.bytes;
  return at < range.first + bytes ? &range : nullptr;
}

bool GpuGroup::holds(const void* pointer) const {
  const std::lock_guard lock(turn_);
  return range_of(pointer) != nullptr;
}

Stripe GpuGroup::stripe_at(const void* pointer, std::size_t bytes) const {
  const std::lock_guard lock(turn_);
  const Range* const range = range_of(pointer);
  if (!range) return {0, bytes};
  std::size_t offset = std::size_t(static_cast<const char*>(pointer) - range->first);
  for (const Stripe& s : range->second) {
    if (offset < s.bytes) return {s.gpu, std::min(bytes, s.bytes - offset)};
    offset -= s.bytes;
  }
  return {0, bytes};
}

std::size_t GpuGroup::free_on_all() const {
  std::size_t least_free = ~std::size_t(0);
  for (int gpu = 0; gpu < size(); ++gpu) {
    make_current(gpu);
    least_free = std::min(least_free, cuda_runtime::free_bytes(pool(gpu)));
  }
  make_current(0);
  return least_free * std::size_t(size());
}

std::size_t GpuGroup::free_bytes() const {
  const std::lock_guard lock(turn_);
  std::size_t kept = 0;
  for (const auto& [begin, stripes] : spare_)
    for (const Stripe& s : stripes) kept += s.bytes;
  return free_on_all() + kept;
}

}  // namespace freeflow
