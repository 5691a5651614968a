// A registration's pictures from its images.
#pragma once

#include <apps/images.h>
#include <apps/report_page/pictures.h>

namespace freeflow::apps {

/// Planes through the middle of the object in the fixed image, grey between what --clip says or a
/// robust range. `fixed` and `moving` are the host's side of the registered images. Waits.
PagePictures draw_registration(Context& ctx, const Registered& registered, const InputImage& fixed,
                               const InputImage& moving);

}  // namespace freeflow::apps
