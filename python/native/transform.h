// Transforms as Python sees them: chains of affines and fields, fixed point to moving point.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <freeflow/python/native/field.h>
#include <freeflow/transform/transform.h>

namespace freeflow::python {

struct PyTransform {
  SharedContext context;
  std::vector<SharedContext> kept;  ///< of fields made with others, whose streams must outlive them
  Transform chain;
  std::vector<MemoryAxes> axes;  ///< of each field
};

/// Rows of a 4x4 matrix, LPS millimetres.
using Matrix = std::array<std::array<double, 4>, 4>;
/// Throws InvalidArgument naming `what` for numbers that are not finite, a last row other than
/// 0 0 0 1 and a singular matrix.
Eigen::Affine3d affine_of(const Matrix& rows, const std::string& what);
Matrix matrix_of(const Eigen::Affine3d& affine);

void bind_transform(nanobind::module_& m);

}  // namespace freeflow::python
