// A scalar image on a device: its geometry and its voxels. A voxel that is NaN has no value: it counts as outside.
#pragma once

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
  Volume(Context& ctx, const Geometry& geometry) : geometry_(geometry), voxels_(ctx, geometry.extent.count()) {}
  /// Copies host voxels (x fastest) to the device.
  Volume(Context& ctx, const Geometry& geometry, const std::vector<T>& host) : geometry_(geometry) {
    require(host.size() == geometry.extent.count(), "the number of voxels does not fit the geometry");
    voxels_ = Buffer<T>(ctx, host);
  }

  const Geometry& geometry() const { return geometry_; }
  Extent extent() const { return geometry_.extent; }
  VolumeView<T> view() { return {voxels_.data(), geometry_.extent}; }
  VolumeView<const T> view() const { return {voxels_.data(), geometry_.extent}; }
  std::vector<T> to_host(Context& ctx) const { return voxels_.to_host(ctx); }
  bool empty() const { return voxels_.size() == 0; }
  Volume clone(Context& ctx) const {
    Volume copy;
    copy.geometry_ = geometry_;
    copy.voxels_ = voxels_.clone(ctx);
    return copy;
  }

 private:
  Geometry geometry_;
  Buffer<T> voxels_;
};

}  // namespace freeflow
