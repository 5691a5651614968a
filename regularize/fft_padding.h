// How a volume lies in the padded one of a Fourier transform.
#pragma once

#include <cstddef>

#include <freeflow/core/views.h>

namespace freeflow {

/// A volume of extent n within one of extent `size` whose rows are `row` floats apart, `margin`
/// voxels from its start.
struct Padding {
  Extent n, size;
  int row;
  int margin[3];

  FREEFLOW_HD std::size_t padded(int x, int y, int z) const {
    return (std::size_t(z) * size.y + y) * row + x;
  }
};

}  // namespace freeflow
