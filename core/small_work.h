// Work that is too small for several GPUs to share.
#pragma once

#include <cstddef>

#include <freeflow/core/context.h>
#include <freeflow/core/context_state.h>

namespace freeflow {

/// While it lives, a context of several GPUs leaves everything to the first of them if it is about
/// fewer voxels than pay for dealing it out. No bit depends on it. What was allocated before may
/// lie on all of them; what lives on after it lies on the first.
class SmallWork {
 public:
  SmallWork(const Context& ctx, std::size_t voxels) : state_(*ctx.state()), before_(state_.alone) {
    state_.alone = before_ || voxels < state_.least_shared;
  }
  ~SmallWork() { state_.alone = before_; }
  SmallWork(const SmallWork&) = delete;

 private:
  ContextState& state_;
  bool before_;
};

}  // namespace freeflow
