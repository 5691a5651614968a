#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include <freeflow/core/buffer.h>
#include <freeflow/core/context_state.h>
#include <freeflow/core/device_memory.h>
#include <freeflow/core/error.h>

namespace freeflow {

std::string Device::name() const { return is_cuda() ? "cuda:" + std::to_string(index) : "cpu"; }

std::string Device::description() const { return is_cuda() ? cuda_runtime::device_name(index) : "CPU"; }

std::vector<Device> available_devices() {
  std::vector<Device> devices{Device{}};
  for (int i = 0; i < cuda_runtime::device_count(); ++i) devices.push_back({Device::Kind::cuda, i});
  return devices;
}

Device Device::parse(const std::string& text) {
  const std::vector<Device> devices = available_devices();
  if (text == "auto") return devices.size() > 1 ? devices[1] : devices[0];
  if (text == "cpu") return devices[0];
  Device wanted{Kind::cuda, 0};
  if (text.rfind("cuda:", 0) == 0 && text.size() > 5 && text.size() < 9 && text.find_first_not_of("0123456789", 5) == std::string::npos)
    wanted.index = std::stoi(text.substr(5));
  else
    require(text == "cuda", "device '" + text + "' is not one of auto, cpu, cuda, cuda:N");
  if (std::find(devices.begin(), devices.end(), wanted) != devices.end()) return wanted;
  std::string list;
  for (const Device& d : devices) list += (list.empty() ? "" : ", ") + d.name();
  throw InvalidArgument("device '" + text + "' does not exist here; available: " + list);
}

ContextState::ContextState(Device device, int threads) : device(device), threads(threads > 0 ? threads : omp_get_max_threads()) {
  if (!device.is_cuda()) {
    landing = std::aligned_alloc(64, Context::landing_bytes);
    if (!landing) throw std::bad_alloc{};
    return;
  }
  if (device.index >= cuda_runtime::device_count()) throw DeviceError("there is no device " + device.name());
  stream = cuda_runtime::create_stream(device.index);
  landing = cuda_runtime::allocate_host(Context::landing_bytes);
}

ContextState::~ContextState() {
  if (!device.is_cuda())
    std::free(landing);
  else if (landing)
    cuda_runtime::deallocate_host(landing);
  if (stream) cuda_runtime::destroy_stream(stream);
}

namespace detail {

void make_current(const ContextState& state) {
  if (state.device.is_cuda()) cuda_runtime::make_current(state.device.index);
}

void* allocate(ContextState& state, std::size_t bytes) {
  void* pointer = nullptr;
  make_current(state);
  if (state.device.is_cuda()) {
    pointer = cuda_runtime::allocate(state.stream, bytes);
  } else {
    pointer = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!pointer)
      throw DeviceError("out of memory: " + std::to_string(bytes >> 20) + " MiB more than the " +
                        std::to_string(state.statistics.bytes_in_use >> 20) + " MiB in use were needed");
  }
  ContextStatistics& s = state.statistics;
  s.allocations += 1;
  s.bytes_in_use += bytes;
  s.peak_bytes = std::max(s.peak_bytes, s.bytes_in_use);
  return pointer;
}

void deallocate(ContextState& state, void* pointer, std::size_t bytes) noexcept {
  state.statistics.bytes_in_use -= bytes;
  if (state.device.is_cuda())
    cuda_runtime::deallocate(state.stream, pointer);
  else
    std::free(pointer);
}

}  // namespace detail

Context::Context(Device device, int threads) : state_(std::make_shared<ContextState>(device, threads)) {}

const Device& Context::device() const { return state_->device; }
int Context::threads() const { return state_->threads; }
void* Context::stream() const { return state_->stream; }
const ContextStatistics& Context::statistics() const { return state_->statistics; }
void Context::reset_peak() { state_->statistics.peak_bytes = state_->statistics.bytes_in_use; }

std::size_t free_bytes(const Context& ctx) {
  if (!ctx.device().is_cuda()) return std::numeric_limits<std::size_t>::max();
  detail::make_current(*ctx.state());
  return cuda_runtime::free_bytes();
}

void Context::synchronize() {
  state_->statistics.synchronizations += 1;
  detail::make_current(*state_);
  if (device().is_cuda()) cuda_runtime::synchronize(stream());
}

void Context::copy_to_device(void* target, const void* source, std::size_t bytes) { copy_on_device(target, source, bytes); }

void Context::copy_to_host(void* target, const void* source, std::size_t bytes) {
  const bool lands = device().is_cuda() && bytes <= landing_bytes;  // else the driver copies by way of its own page-locked memory
  copy_on_device(lands ? landing() : target, source, bytes);
  synchronize();
  if (lands) std::memcpy(target, landing(), bytes);
}

void* Context::landing() const { return state_->landing; }

void Context::copy_on_device(void* target, const void* source, std::size_t bytes) {
  detail::make_current(*state_);
  if (device().is_cuda())
    cuda_runtime::copy(stream(), target, source, bytes);
  else
    std::memcpy(target, source, bytes);
}

void Context::fill_zero(void* target, std::size_t bytes) {
  detail::make_current(*state_);
  if (device().is_cuda())
    cuda_runtime::fill_zero(stream(), target, bytes);
  else
    std::memset(target, 0, bytes);
}

}  // namespace freeflow
