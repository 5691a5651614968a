// The sections of a page that show pictures.
#pragma once

#include <string>

#include <apps/report_page/pictures.h>

namespace freeflow::apps {

/// What the page's style has of the pictures that several sections show.
std::string picture_style(const PagePictures& pictures);
/// Flicker, edges, checkerboard, differences.
std::string image_sections(const PagePictures& pictures);
/// Grid and log-Jacobian map; empty without a displacement.
std::string deformation_section(const PagePictures& pictures);

}  // namespace freeflow::apps
