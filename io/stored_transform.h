// Private to io: a transform as ITK's files hold it, numbers by name.
#pragma once

#include <string>
#include <vector>

namespace freeflow {

struct StoredTransform {
  std::string type;  ///< ITK's name of the class: AffineTransform_double_3_3
  std::vector<double> fixed, parameters;
};

/// Of third order, as nothing more in the name says.
inline bool is_spline(const StoredTransform& transform) {
  return transform.type == "BSplineTransform_double_3_3" ||
         transform.type == "BSplineTransform_float_3_3";
}

/// Of ITK's classes that smooth what is added to them as well, as SimpleITK's do that was told to:
/// their numbers are the same. 3D Slicer's InverseDisplacementFieldTransform is none.
inline bool is_displacement_field(const StoredTransform& transform) {
  for (const char* smoothing : {"", "GaussianSmoothingOnUpdate", "BSplineSmoothingOnUpdate"})
    if (transform.type.starts_with(std::string(smoothing) + "DisplacementField")) return true;
  return false;
}

}  // namespace freeflow
