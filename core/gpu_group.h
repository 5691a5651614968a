// Several GPUs of one machine as one device. A large buffer is one range of addresses whose parts
// lie on all of them, and each of them reaches the whole through NVLink or PCIe; a large launch is
// dealt out, the parts of the grid to the GPUs that hold them. A voxel is computed as it would be
// on one GPU, so the bits are those of one GPU, whatever their number. All work seems to be queued
// on the first one's stream.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include <freeflow/core/device.h>
#include <freeflow/core/stripes.h>

namespace freeflow {

class GpuGroup {
 public:
  /// first_stream, first_pool: of the device's first GPU, kept by the caller. Throws DeviceError
  /// where the GPUs cannot read each other's memory.
  GpuGroup(const Device& device, void* first_stream, void* first_pool);
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
  /// For memory of one GPU that all of them reach. As long-lived as the group: with pools
  /// that came and went with a level, programs died in the driver (docs/decisions.md).
  void* pool(int gpu) const { return pools_[std::size_t(gpu)]; }
  /// The calling thread's current GPU, on which it launches.
  void make_current(int gpu) const;

  /// What a GPU's stream is given next comes after what the first has been given so far.
  void follow_first(int gpu) const;

  /// While it lives, the GPUs' streams run side by side.
  class Shared {
   public:
    /// The others wait for what the first has been given so far.
    explicit Shared(const GpuGroup& group);
    /// After an exception: joins as well as it can.
    ~Shared();
    Shared(const Shared&) = delete;
    /// Makes the first GPU current; it waits for what the others have been given.
    void join();

   private:
    const GpuGroup& group_;
    bool joined_ = false;
  };

  /// Memory on all of them. Throws DeviceError that says how much was asked for and is free.
  void* allocate(std::size_t bytes, const Planes& planes);
  /// Keeps it for the next that is dealt out alike. False where the memory is not the group's.
  bool deallocate(void* pointer) noexcept;
  /// Gives what it keeps back to the GPUs, after queued work. False where it keeps nothing.
  bool give_back_spare() noexcept;
  /// The GPU that has the first of these bytes, and how many of them it has in a row; the first and
  /// all where the memory is not the group's.
  Stripe stripe_at(const void* pointer, std::size_t bytes) const;
  bool holds(const void* pointer) const;
  /// What is free on the fullest GPU, times their number, with what is kept.
  std::size_t free_bytes() const;

 private:
  /// Owns nothing yet; what throws after it has its destructor give back what was made.
  explicit GpuGroup(const Device& device) : device_(device) {}

  using Range = std::pair<const char* const, std::vector<Stripe>>;

  const Range* range_of(const void* pointer) const;
  std::size_t free_on_all() const;
  void wait_for_all() const noexcept;
  void unmap_spare() noexcept;

  Device device_;
  std::vector<void*> streams_, pools_, events_;
  mutable std::mutex turn_;
  std::map<const char*, std::vector<Stripe>> memory_, spare_;
};

}  // namespace freeflow
