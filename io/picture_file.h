// Pictures for reports.
#pragma once

#include <string>
#include <vector>

namespace freeflow {

/// Writes a PNG of `rgb`: three bytes a pixel, rows from the top, x fastest. Throws IoError, or
/// InvalidArgument when the sizes do not fit.
void write_png(const std::string& path, int width, int height,
               const std::vector<unsigned char>& rgb);

}  // namespace freeflow
