// Copies between a GPU and ordinary host memory by way of page-locked buffers.
#pragma once

#include <cstddef>
#include <vector>

namespace freeflow {

class Context;

/// A buffer for each of several threads, one of which copies a piece to or from the host's memory
/// while the GPU copies others: the driver, left alone, has one thread, which is also the one that
/// waits for every fresh page. Belongs to one context, in whose order of work the copies take their
/// place; outlived by its GPU's stream.
class Staging {
 public:
  /// What is smaller is the driver's.
  static constexpr std::size_t worthwhile = std::size_t(8) << 20;

  /// Takes 1 MiB a thread, of at most 8. Throws DeviceError.
  explicit Staging(Context& ctx);
  ~Staging();
  Staging(const Staging&) = delete;

  /// Waits until all has come.
  void to_host(Context& ctx, void* target, const void* source, std::size_t bytes);
  /// Returns when `source` has been read.
  void to_device(Context& ctx, void* target, const void* source, std::size_t bytes);

 private:
  struct Slot {
    void* memory = nullptr;
    void* event = nullptr;  ///< its last copy
  };
  template <class Copy>
  void in_pieces(std::size_t bytes, const Copy& copy);
  void release() noexcept;

  std::vector<Slot> slots_;
};

}  // namespace freeflow
