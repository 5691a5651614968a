// A dense displacement on a grid: u(x) in voxels along the grid's own axes, one plane per
// component.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <freeflow/core/buffer.h>
#include <freeflow/core/error.h>
#include <freeflow/core/geometry.h>

namespace freeflow {

/// phi(x) = x + u(x) on the grid of `geometry`. In world millimetres u is direction * (spacing .*
/// u).
class DisplacementField {
 public:
  DisplacementField() = default;
  DisplacementField(Context& ctx, const Geometry& geometry)
      : geometry_(geometry), planes_(ctx, 3 * geometry.extent.count(), Planes{3}) {}
  /// Copies three host planes (all x, all y, all z components; voxels) to the device.
  DisplacementField(Context& ctx, const Geometry& geometry, const std::vector<float>& host)
      : geometry_(geometry) {
    require(host.size() == 3 * geometry.extent.count(),
            "the number of displacements does not fit the geometry");
    planes_ = Buffer<float>(ctx, host, Planes{3});
  }

  /// Takes planes that are on the device already, owned or lent. Throws InvalidArgument when their
  /// number does not fit the geometry.
  DisplacementField(const Geometry& geometry, Buffer<float> planes)
      : geometry_(geometry), planes_(std::move(planes)) {
    require(planes_.size() == 3 * geometry.extent.count(),
            "the number of displacements does not fit the geometry");
  }

  /// What was moved from is empty.
  DisplacementField(DisplacementField&& other) noexcept
      : geometry_(std::exchange(other.geometry_, Geometry())), planes_(std::move(other.planes_)) {}
  DisplacementField& operator=(DisplacementField&& other) noexcept {
    geometry_ = std::exchange(other.geometry_, Geometry());
    planes_ = std::move(other.planes_);
    return *this;
  }

  const Geometry& geometry() const { return geometry_; }
  Extent extent() const { return geometry_.extent; }
  FieldView<float> view() { return {planes_.data(), geometry_.extent}; }
  FieldView<const float> view() const { return {planes_.data(), geometry_.extent}; }
  void fill_zero(Context& ctx) { planes_.fill_zero(ctx); }
  std::vector<float> to_host(Context& ctx) const { return planes_.to_host(ctx); }
  bool empty() const { return planes_.size() == 0; }
  DisplacementField clone(Context& ctx) const {
    return empty() ? DisplacementField() : DisplacementField(geometry_, planes_.clone(ctx));
  }
  /// The same planes once more, without a copy; this field must outlive it.
  DisplacementField lend() const {
    return empty() ? DisplacementField() : DisplacementField(geometry_, planes_.lend());
  }
  /// For require_on_device.
  const std::shared_ptr<ContextState>& owner() const { return planes_.owner(); }

 private:
  Geometry geometry_;
  Buffer<float> planes_;
};

}  // namespace freeflow
