// Memory of a context's device: owned, freed in stream order when the buffer dies, or lent by
// somebody who keeps it alive. The contents of a new one are undefined. What a buffer shares with
// its copies on other devices is nothing: move it, clone it, or lend it.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <freeflow/core/context.h>
#include <freeflow/core/stripes.h>

namespace freeflow {

namespace detail {
void* allocate(ContextState&, std::size_t bytes, const Planes& planes);
void deallocate(ContextState&, void* pointer, std::size_t bytes) noexcept;
/// Throws InvalidArgument when a pointer is null or does not belong to the context's device.
void require_reachable(const ContextState&, const void* pointer);
}  // namespace detail

template <class T>
class Buffer {
 public:
  Buffer() = default;
  /// planes: how the elements are used, for memory that several GPUs share.
  Buffer(Context& ctx, std::size_t size, const Planes& planes = {})
      : state_(ctx.state()),
        data_(size ? static_cast<T*>(detail::allocate(*state_, size * sizeof(T), planes))
                   : nullptr),
        size_(size), planes_(planes) {}
  /// Copies a host array to the device.
  Buffer(Context& ctx, const std::vector<T>& host, const Planes& planes = {})
      : Buffer(ctx, host.size(), planes) {
    if (size_) ctx.copy_to_device(data_, host.data(), size_ * sizeof(T));
  }
  /// Memory of somebody else's on the context's device, `size` elements from `data`: an array of
  /// numpy or torch, another buffer. `keeper` is held as long as the buffer lives and may be null
  /// where the caller sees to that. Nothing is copied or freed. Work that uses it on a GPU is
  /// queued on the stream of the context given then. Throws InvalidArgument when the memory lies
  /// elsewhere.
  static Buffer lent(Context& ctx, T* data, std::size_t size,
                     const std::shared_ptr<const void>& keeper) {
    Buffer buffer;
    if (size == 0) return buffer;
    detail::require_reachable(*ctx.state(), data);
    buffer.state_ = ctx.state();
    buffer.data_ = data;
    buffer.size_ = size;
    buffer.keeper_ = keeper;
    buffer.is_lent_ = true;
    return buffer;
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (data_ && !is_lent_) detail::deallocate(*state_, data_, size_ * sizeof(T));
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// The same memory once more, without a copy; this buffer must outlive it.
  Buffer lend() const {
    Buffer buffer;
    buffer.state_ = state_;
    buffer.data_ = data_;
    buffer.size_ = size_;
    buffer.planes_ = planes_;
    buffer.is_lent_ = true;
    return buffer;
  }
  void fill_zero(Context& ctx) {
    require_on_device(ctx, *this);
    if (size_) ctx.fill_zero(data_, size_ * sizeof(T));
  }
  /// A host copy; waits for queued work.
  std::vector<T> to_host(Context& ctx) const {
    require_on_device(ctx, *this);
    std::vector<T> host(size_);
    if (size_) ctx.copy_to_host(host.data(), data_, size_ * sizeof(T));
    return host;
  }
  Buffer clone(Context& ctx) const {
    require_on_device(ctx, *this);
    Buffer copy(ctx, size_, planes_);
    if (size_) ctx.copy_on_device(copy.data_, data_, size_ * sizeof(T));
    return copy;
  }
  /// For require_on_device.
  const std::shared_ptr<ContextState>& owner() const { return state_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(planes_, other.planes_);
    std::swap(keeper_, other.keeper_);
    std::swap(is_lent_, other.is_lent_);
  }

  std::shared_ptr<ContextState> state_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
  Planes planes_;
  std::shared_ptr<const void> keeper_;
  bool is_lent_ = false;
};

}  // namespace freeflow
