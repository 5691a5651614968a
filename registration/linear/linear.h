// Linear registration: the rigid, similarity, 9-parameter or affine transform that brings
// moving(phi(x)) to match fixed(x), coarse to fine.
#pragma once

#include <span>

#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/registration/linear/linear_options.h>
#include <freeflow/registration/linear/linear_result.h>
#include <freeflow/registration/masks.h>

namespace freeflow {

/// Registers. Fixed and moving may live on different grids; the context's device holds them. Throws
/// InvalidArgument for unusable options, geometry or device, RegistrationError for images without
/// content and when the overlap found is below options.smallest_overlap (with the fraction),
/// DeviceError, and Cancelled when the observer asks.
LinearResult register_linear(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving,
                             const LinearOptions& options = {}, const Masks& masks = {},
                             Observer* observer = nullptr);
/// The same of images of several channels, as register_images() takes them.
LinearResult register_linear(Context& ctx, std::span<const Volume<float>> fixed,
                             std::span<const Volume<float>> moving,
                             const LinearOptions& options = {}, const Masks& masks = {},
                             Observer* observer = nullptr);
/// The same of images that are kept for further registrations.
LinearResult register_linear(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                             const LinearOptions& options = {}, Observer* observer = nullptr);

}  // namespace freeflow
