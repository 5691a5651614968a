// Several GPUs that each go through work of their own.
#pragma once

#include <optional>

#include <freeflow/core/context.h>
#include <freeflow/core/gpu_group.h>

namespace freeflow {

/// While it lives, what is queued with the contexts of Context::parts runs side by side, after what
/// was queued with `ctx` before; `ctx` goes on after all of it. Nothing where one device works.
class SideBySide {
 public:
  explicit SideBySide(const Context& ctx) : current_(*ctx.state()) {
    if (ctx.group()) shared_.emplace(*ctx.group());
  }
  SideBySide(const SideBySide&) = delete;

 private:
  detail::CurrentDevice current_;
  std::optional<GpuGroup::Shared> shared_;
};

}  // namespace freeflow
