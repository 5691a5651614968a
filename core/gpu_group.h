// Several GPUs of one machine as one device. A large buffer is one range of addresses whose parts
// lie on all of them, and each of them reaches the whole through NVLink or PCIe; a large launch is
// dealt out by blocks, the parts of the grid to the GPUs that hold them. A block computes what it
// would on one GPU, so the bits are those of one GPU, whatever their number. All work seems to be
// queued on the first one's stream.
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <freeflow/core/device.h>
#include <freeflow/core/stripes.h>

namespace freeflow {

class GpuGroup {
 public:
  /// first_stream: of the device's first GPU, kept by the caller. Throws DeviceError where the GPUs
  /// cannot read each other's memory.
  GpuGroup(const Device& device, void* first_stream);
  ~GpuGroup();
  GpuGroup(const GpuGroup&) = delete;

  /// What is smaller stays on the first GPU: sharing it would cost more than it saves.
  struct Least {
    std::size_t bytes = std::size_t(32) << 20;
    std::size_t blocks = 4096;
  };
  Least least;

  int size() const { return int(streams_.size()); }
  void* stream(int gpu) const { return streams_[std::size_t(gpu)]; }
  /// The calling thread's current GPU, on which it launches; the first again without an exception.
  void make_current(int gpu) const;
  void make_first_current() const noexcept;

  /// The other GPUs wait for what the first has been given so far.
  void fork() const;
  /// The first GPU waits for what the others have been given so far.
  void join() const;

  /// Memory on all of them. Throws DeviceError that says how much was asked for and is free.
  void* allocate(std::size_t bytes, const Planes& planes);
  /// False where the memory is not the group's. Waits until nobody uses it.
  bool deallocate(void* pointer) noexcept;
  /// What is free on the fullest GPU, times their number.
  std::size_t free_bytes() const;

 private:
  Device device_;
  std::vector<void*> streams_, events_;
  std::mutex turn_;
  std::unordered_map<void*, std::vector<Stripe>> memory_;
};

}  // namespace freeflow
