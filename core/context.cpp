#include <freeflow/core/context.h>

#include <omp.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <freeflow/core/context_state.h>
#include <freeflow/core/cuda_mapping.h>
#include <freeflow/core/cuda_runtime.h>
#include <freeflow/core/error.h>

namespace freeflow {

ContextState::ContextState(Device device, int threads, ContextKind kind)
    : device(device), threads(threads > 0 ? threads : omp_get_max_threads()), kind(kind) {}

ContextState::ContextState(Device device, int threads, ContextKind kind, void* lent_stream)
    : ContextState(device, threads, kind) {
  if (device.is_cuda() && device.index + device.count > cuda_runtime::device_count())
    throw DeviceError("there is no device " + device.name());
  if (!device.is_cuda() || kind == ContextKind::rehearsing) {
    readback = std::aligned_alloc(64, readback_bytes);
    if (!readback) throw std::bad_alloc{};
    std::memset(readback, 0, readback_bytes);
    return;
  }
  const detail::CurrentDevice current(*this);
  if (device.count > 1) cuda_mapping::connect(device);
  stream =
      kind == ContextKind::on_lent_stream ? lent_stream : cuda_runtime::create_stream(device.index);
  pool = cuda_runtime::create_pool(device.index, device.index, device.count);
  if (device.count > 1) group = std::make_unique<GpuGroup>(device, stream, pool);
  readback = cuda_runtime::allocate_host(readback_bytes);
}

ContextState::ContextState(std::shared_ptr<ContextState> of, int gpu)
    : device(of->device), gpu(gpu), threads(of->threads), kind(of->kind), whole(std::move(of)) {
  if (kind == ContextKind::rehearsing) return;
  kind = ContextKind::of_one_gpu;
  stream = whole->group->stream(gpu);
  pool = whole->group->pool(gpu);
}

ContextState::~ContextState() {
  if (staging) cuda_runtime::synchronize_quietly(stream);  // which may still read it
  staging.reset();
  group.reset();
  if (!device.is_cuda() || kind == ContextKind::rehearsing)
    std::free(readback);
  else if (readback)
    cuda_runtime::deallocate_host(readback);
  if (stream && kind == ContextKind::working) cuda_runtime::destroy_stream(stream);
  if (pool && !whole) cuda_runtime::destroy_pool(pool);
}

namespace detail {

CurrentDevice::CurrentDevice(const ContextState& state) {
  if (!state.device.is_cuda()) return;
  const int now = cuda_runtime::current_device(), wanted = state.device.index + state.gpu;
  if (now == wanted) return;
  cuda_runtime::make_current(wanted);
  previous_ = now;
}

CurrentDevice::~CurrentDevice() {
  if (previous_ >= 0) cuda_runtime::make_current_quietly(previous_);
}

void refuse_moved_context() {
  throw InvalidArgument("the context was moved from: use the one that it was moved to");
}

void require_same_device(const ContextState& context, const ContextState& owner) {
  const bool rehearses = context.kind == ContextKind::rehearsing;
  require(
      rehearses == (owner.kind == ContextKind::rehearsing),
      "memory of a rehearsal holds nothing: make the volume with the context that does the work");
  require(context.device == owner.device,
          "the memory lies on " + owner.device.name() + ", but the context is of " +
              context.device.name() +
              ": copy it there first (to_host, then a volume of that context)");
}

}  // namespace detail

Context::Context(Device device, int threads)
    : state_(std::make_shared<ContextState>(device, threads, ContextKind::working, nullptr)) {}

Context Context::on_stream(Device device, void* stream, int threads) {
  require(device.is_cuda() && stream != nullptr,
          "a stream can be lent to a context of a GPU only, and must not be null");
  return Context(
      std::make_shared<ContextState>(device, threads, ContextKind::on_lent_stream, stream));
}

Context Context::rehearsal() const {
  const auto state =
      std::make_shared<ContextState>(device(), threads(), ContextKind::rehearsing, nullptr);
  state->least_shared = this->state()->least_shared;
  return Context(state);
}

std::vector<Context> Context::parts() const {
  std::vector<Context> all;
  if (sharing() == 1)
    all.push_back(Context(state_));
  else
    for (int gpu = 0; gpu < sharing(); ++gpu)
      all.push_back(Context(std::make_shared<ContextState>(state_, gpu)));
  return all;
}

bool Context::rehearses() const { return state()->kind == ContextKind::rehearsing; }
const Device& Context::device() const { return state()->device; }
int Context::threads() const { return state()->threads; }
void* Context::stream() const { return state()->stream; }
const GpuGroup* Context::group() const { return state()->alone ? nullptr : state()->group.get(); }
int Context::gpu() const { return state()->gpu; }
int Context::sharing() const {
  return state()->whole || state()->alone ? 1 : state()->device.count;
}
const ContextStatistics& Context::statistics() const { return state()->statistics(); }
void Context::reset_peak() {
  ContextStatistics& counted = state()->statistics();
  counted.peak_bytes = counted.bytes_in_use;
}
void* Context::readback() const { return state()->readback; }

void Context::synchronize() {
  state()->statistics().synchronizations += 1;
  if (!device().is_cuda() || rehearses()) return;
  const detail::CurrentDevice current(*state());
  cuda_runtime::synchronize(stream());
}

namespace {
Staging::Copy queued_by(Context& ctx) {
  return [&ctx](void* target, const void* source, std::size_t bytes) {
    ctx.copy_on_device(target, source, bytes);
  };
}
}  // namespace

Staging* Context::staging_for(std::size_t bytes) {
  if (!device().is_cuda() || rehearses() || bytes < Staging::worthwhile) return nullptr;
  if (!state()->staging) {
    const detail::CurrentDevice current(*state());
    state()->staging = std::make_unique<Staging>(device().index + gpu(), stream(), threads());
  }
  return state()->staging.get();
}

void Context::copy_to_device(void* target, const void* source, std::size_t bytes) {
  if (Staging* const staging = staging_for(bytes))
    staging->to_device(queued_by(*this), target, source, bytes);
  else
    copy_on_device(target, source, bytes);
}

void Context::copy_to_host(void* target, const void* source, std::size_t bytes) {
  if (rehearses()) {
    synchronize();
    std::memset(target, 0, bytes);
    return;
  }
  if (Staging* const staging = staging_for(bytes)) {
    state()->statistics().synchronizations += 1;
    return staging->to_host(queued_by(*this), target, source, bytes);
  }
  const bool small = device().is_cuda() && bytes <= readback_bytes;
  copy_on_device(small ? readback() : target, source, bytes);
  synchronize();
  if (small) std::memcpy(target, readback(), bytes);
}

void Context::copy_on_device(void* target, const void* source, std::size_t bytes) {
  if (rehearses()) return;
  if (!device().is_cuda()) {
    std::memcpy(target, source, bytes);
    return;
  }
  const detail::CurrentDevice current(*state());
  for (std::size_t done = 0, n = 0; done < bytes; done += n) {
    auto* const to = static_cast<char*>(target) + done;
    const auto* const from = static_cast<const char*>(source) + done;
    n = state()->on_one_gpu(from, state()->on_one_gpu(to, bytes - done));
    cuda_runtime::copy(stream(), to, from, n);
  }
}

void Context::fill_zero(void* target, std::size_t bytes) {
  if (rehearses()) return;
  if (!device().is_cuda()) {
    std::memset(target, 0, bytes);
    return;
  }
  const detail::CurrentDevice current(*state());
  const GpuGroup* const all = state()->group.get();
  const Stripe first = all ? all->stripe_at(target, bytes) : Stripe{0, bytes};
  if (first.gpu == 0 && first.bytes == bytes)
    return cuda_runtime::fill_zero(stream(), target, bytes);
  GpuGroup::Shared shared(*all);  // each GPU fills its own
  for (std::size_t done = 0; done < bytes;) {
    auto* const to = static_cast<char*>(target) + done;
    const Stripe stripe = all->stripe_at(to, bytes - done);
    all->make_current(stripe.gpu);
    cuda_runtime::fill_zero(all->stream(stripe.gpu), to, stripe.bytes);
    done += stripe.bytes;
  }
  shared.join();
}

}  // namespace freeflow
