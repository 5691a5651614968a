// Pictures for reports.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace freeflow {

/// One byte a pixel, rows from the top, x fastest: a grey, or a place in `palette` (red, green,
/// blue, opacity).
struct Picture {
  int width = 0, height = 0;
  std::vector<unsigned char> pixels;
  std::vector<std::array<unsigned char, 4>> palette = {};  ///< empty: greys; at most 256
};

/// The bytes of a PNG (ISO/IEC 15948) of the picture. Throws InvalidArgument when the sizes do not
/// fit or a pixel lies beyond the palette.
std::string png_of(const Picture& picture);

/// Writes a PNG of `rgb`: three bytes a pixel, rows from the top, x fastest. Throws IoError, or
/// InvalidArgument when the sizes do not fit.
void write_png(const std::string& path, int width, int height,
               const std::vector<unsigned char>& rgb);

}  // namespace freeflow
