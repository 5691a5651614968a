// How far a transform leaves landmarks of the fixed image from their counterparts in the moving one
// (target registration error), in millimetres.
#pragma once

#include <span>
#include <vector>

#include <freeflow/transform/transform.h>

namespace freeflow {

struct ErrorSummary {
  double mean = 0, sd = 0;              ///< sd: over all of them, divided by their number
  double median = 0, p95 = 0, max = 0;  ///< percentiles are linear between ranks, as numpy's
};

struct LandmarkError {
  std::vector<double> before_mm, after_mm;  ///< of each pair: |x - y|, |transform(x) - y|
  ErrorSummary before, after;
};

/// Landmarks in the world (mm, LPS); fixed[i] and moving[i] are one place. In double on the host.
/// Beyond a field's grid nothing is displaced, as everywhere in a Transform. Throws InvalidArgument
/// when the lists are empty or differ in length.
LandmarkError landmark_error(Context& ctx, const Transform& transform,
                             std::span<const Eigen::Vector3d> fixed,
                             std::span<const Eigen::Vector3d> moving);

}  // namespace freeflow
