// How a registration of plain volumes becomes one of prepared images.
#pragma once

#include <span>

#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/registration/masks.h>

namespace freeflow {

/// Calls f(PreparedImage& fixed, PreparedImage& moving) with images that refer to the caller's
/// channels.
template <class F>
auto with_prepared(std::span<const Volume<float>> fixed, std::span<const Volume<float>> moving,
                   const Masks& masks, F&& f) {
  const auto lend = [](const Volume<float>* mask) { return mask ? mask->lend() : Volume<float>(); };
  const auto lend_all = [](std::span<const Volume<float>> channels) {
    std::vector<Volume<float>> lent;
    for (const Volume<float>& v : channels) lent.push_back(v.lend());
    return lent;
  };
  PreparedImage prepared_fixed(lend_all(fixed), lend(masks.fixed), "the fixed image");
  PreparedImage prepared_moving(lend_all(moving), lend(masks.moving), "the moving image");
  return f(prepared_fixed, prepared_moving);
}

/// The same of images of one channel.
template <class F>
auto with_prepared(const Volume<float>& fixed, const Volume<float>& moving, const Masks& masks,
                   F&& f) {
  return with_prepared(std::span(&fixed, 1), std::span(&moving, 1), masks, std::forward<F>(f));
}

}  // namespace freeflow
