#include <freeflow/evaluation/landmark_error.h>

#include <string>

#include <freeflow/evaluation/statistics.h>

namespace freeflow {

namespace {

ErrorSummary summary_of(std::vector<double> errors) {
  Moments moments;
  for (const double e : errors) moments.add(e);
  return {moments.mean(), moments.deviation(), percentile(errors, 50), percentile(errors, 95),
          percentile(errors, 100)};
}

}  // namespace

LandmarkError landmark_error(Context& ctx, const Transform& transform,
                             std::span<const Eigen::Vector3d> fixed,
                             std::span<const Eigen::Vector3d> moving) {
  require(fixed.size() == moving.size(), std::to_string(fixed.size()) + " fixed and " +
                                             std::to_string(moving.size()) +
                                             " moving landmarks: each needs its counterpart");
  require(!fixed.empty(), "there are no landmarks");
  const std::vector<Eigen::Vector3d> mapped = map_points(ctx, transform, fixed);
  LandmarkError error;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    error.before_mm.push_back((fixed[i] - moving[i]).norm());
    error.after_mm.push_back((mapped[i] - moving[i]).norm());
  }
  error.before = summary_of(error.before_mm);
  error.after = summary_of(error.after_mm);
  return error;
}

}  // namespace freeflow
