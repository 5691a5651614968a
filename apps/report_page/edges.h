// Edges of a picture, one pixel wide.
#pragma once

#include <vector>

namespace freeflow::apps {

/// 1 where the gradient of the smoothed picture is largest along its own direction and strong
/// beside the picture's strongest (Canny 1986, without his hysteresis). Values 0 to 1, rows of
/// `columns` pixels that lie so many mm apart; NaN counts as 0.
std::vector<unsigned char> edges_of(const std::vector<float>& values, int columns, int rows,
                                    double column_mm, double row_mm);

}  // namespace freeflow::apps
