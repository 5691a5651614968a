// The grid of a displacement as lines.
#pragma once

#include <apps/report_page/pictures.h>

namespace freeflow::apps {

/// Fills in the grids of a page: lines that are straight, and equally far apart, in the fixed
/// image, drawn where the displacement takes them, as far as that is within the plane. Nothing
/// without a displacement.
void draw_grids(const std::array<PlaneValues, 3>& planes, PagePictures& pictures);

}  // namespace freeflow::apps
