// Copies between a GPU and ordinary host memory by way of page-locked buffers.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace freeflow {

/// A buffer for each of several threads, one of which copies a piece to or from the host's memory
/// while the GPU copies others: the driver, left alone, has one thread, which is also the one that
/// waits for every fresh page. The copies take their place in the work of one stream, which
/// outlives this.
class Staging {
 public:
  /// What is smaller is the driver's.
  static constexpr std::size_t worthwhile = std::size_t(8) << 20;

  /// Puts a copy into the stream; any thread calls it.
  using Copy = std::function<void(void* target, const void* source, std::size_t bytes)>;

  /// Takes 1 MiB a thread, of at most 8; `gpu`, which becomes the current one, is the stream's.
  /// Throws DeviceError.
  Staging(int gpu, void* stream, int threads);
  ~Staging();
  Staging(const Staging&) = delete;

  /// Waits until all has come.
  void to_host(const Copy& copy, void* target, const void* source, std::size_t bytes);
  /// Returns when `source` has been read.
  void to_device(const Copy& copy, void* target, const void* source, std::size_t bytes);

 private:
  struct Slot {
    void* memory = nullptr;
    void* event = nullptr;  ///< its last copy
  };
  template <class CopyPiece>
  void in_pieces(std::size_t bytes, const CopyPiece& copy);
  void release() noexcept;

  void* stream_;
  std::vector<Slot> slots_;
};

}  // namespace freeflow
