// How a registration of plain volumes becomes one of prepared images.
#pragma once

#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/registration/masks.h>

namespace freeflow {

/// Calls f(PreparedImage& fixed, PreparedImage& moving) with images that refer to the caller's.
template <class F>
auto with_prepared(const Volume<float>& fixed, const Volume<float>& moving, const Masks& masks,
                   F&& f) {
  const auto lend = [](const Volume<float>* mask) { return mask ? mask->lend() : Volume<float>(); };
  PreparedImage prepared_fixed(fixed.lend(), lend(masks.fixed), "the fixed image");
  PreparedImage prepared_moving(moving.lend(), lend(masks.moving), "the moving image");
  return f(prepared_fixed, prepared_moving);
}

}  // namespace freeflow
