// A scalar image on a device: its geometry and its voxels. A voxel that is NaN has no value: it
// counts as outside.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <freeflow/core/buffer.h>
#include <freeflow/core/error.h>
#include <freeflow/core/geometry.h>
#include <freeflow/core/views.h>

namespace freeflow {

template <class T>
class Volume {
 public:
  Volume() = default;
  Volume(Context& ctx, const Geometry& geometry)
      : geometry_(geometry), voxels_(ctx, geometry.extent.count()) {}
  /// Copies host voxels (x fastest) to the device. Throws InvalidArgument when their number does
  /// not fit the geometry.
  Volume(Context& ctx, const Geometry& geometry, const std::vector<T>& host) : geometry_(geometry) {
    require(host.size() == geometry.extent.count(),
            "the number of voxels does not fit the geometry");
    voxels_ = Buffer<T>(ctx, host);
  }
  /// Takes voxels that are on the device already, owned or lent (x fastest). Throws InvalidArgument
  /// when their number does not fit.
  Volume(const Geometry& geometry, Buffer<T> voxels)
      : geometry_(geometry), voxels_(std::move(voxels)) {
    require(voxels_.size() == geometry.extent.count(),
            "the number of voxels does not fit the geometry");
  }

  /// What was moved from is empty.
  Volume(Volume&& other) noexcept
      : geometry_(std::exchange(other.geometry_, Geometry())), voxels_(std::move(other.voxels_)) {}
  Volume& operator=(Volume&& other) noexcept {
    geometry_ = std::exchange(other.geometry_, Geometry());
    voxels_ = std::move(other.voxels_);
    return *this;
  }

  const Geometry& geometry() const { return geometry_; }
  Extent extent() const { return geometry_.extent; }
  VolumeView<T> view() { return {voxels_.data(), geometry_.extent}; }
  VolumeView<const T> view() const { return {voxels_.data(), geometry_.extent}; }
  std::vector<T> to_host(Context& ctx) const { return voxels_.to_host(ctx); }
  bool empty() const { return voxels_.size() == 0; }
  Volume clone(Context& ctx) const {
    return empty() ? Volume() : Volume(geometry_, voxels_.clone(ctx));
  }
  /// The same voxels once more, without a copy; this volume must outlive it.
  Volume lend() const { return empty() ? Volume() : Volume(geometry_, voxels_.lend()); }
  /// For require_on_device.
  const std::shared_ptr<ContextState>& owner() const { return voxels_.owner(); }

 private:
  Geometry geometry_;
  Buffer<T> voxels_;
};

}  // namespace freeflow
