// Private: a field's numbers on the host.
#pragma once

#include <span>
#include <vector>

#include <freeflow/deform/displacement_field.h>

namespace freeflow {

/// A CPU's field where it lies, a copy of a GPU's. Not in a rehearsal, which has no numbers. The
/// field must outlive it.
class HostPlanes {
 public:
  HostPlanes(Context& ctx, const DisplacementField& u)
      : copy_(ctx.device().is_cuda() ? u.to_host(ctx) : std::vector<float>()), own_(u.view().data),
        extent_(u.extent()) {}

  FieldView<const float> view() const { return {copy_.empty() ? own_ : copy_.data(), extent_}; }
  /// x fastest, component slowest.
  std::span<const float> planes() const { return {view().data, 3 * extent_.count()}; }

 private:
  std::vector<float> copy_;
  const float* own_;
  Extent extent_;
};

}  // namespace freeflow
