// Memory of a context's device, owned, freed in stream order when the buffer dies. Contents start undefined.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <freeflow/core/context.h>

namespace freeflow {

namespace detail {
void* allocate(ContextState&, std::size_t bytes);
void deallocate(ContextState&, void* pointer, std::size_t bytes) noexcept;
}  // namespace detail

template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Context& ctx, std::size_t size)
      : state_(ctx.state()), data_(size ? static_cast<T*>(detail::allocate(*state_, size * sizeof(T))) : nullptr), size_(size) {}
  /// Copies a host array to the device.
  Buffer(Context& ctx, const std::vector<T>& host) : Buffer(ctx, host.size()) {
    if (size_) ctx.copy_to_device(data_, host.data(), size_ * sizeof(T));
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (data_) detail::deallocate(*state_, data_, size_ * sizeof(T));
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  void fill_zero(Context& ctx) {
    if (size_) ctx.fill_zero(data_, size_ * sizeof(T));
  }
  /// A host copy; waits for queued work.
  std::vector<T> to_host(Context& ctx) const {
    std::vector<T> host(size_);
    if (size_) ctx.copy_to_host(host.data(), data_, size_ * sizeof(T));
    return host;
  }
  Buffer clone(Context& ctx) const {
    Buffer copy(ctx, size_);
    if (size_) ctx.copy_on_device(copy.data_, data_, size_ * sizeof(T));
    return copy;
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  std::shared_ptr<ContextState> state_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace freeflow
