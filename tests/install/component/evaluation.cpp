// Two boxes and a landmark, scored.
#include <cstdio>
#include <vector>

#include <freeflow/evaluation/field_quality.h>
#include <freeflow/evaluation/label_overlap.h>
#include <freeflow/evaluation/landmark_error.h>
#include <freeflow/evaluation/surface_distance.h>

using namespace freeflow;

int main() {
  Context ctx(Device::parse("cpu"));
  Geometry geometry;
  geometry.extent = {8, 4, 4};
  geometry.spacing = {2, 1, 1};
  const auto box = [&](int first) {
    std::vector<std::int32_t> labels(geometry.extent.count());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const int x = int(i % 8);
      labels[i] = x >= first && x < first + 4 ? 17 : 0;
    }
    return Volume<std::int32_t>(ctx, geometry, labels);
  };
  const std::vector<std::int32_t> label = {17};
  const double dice = label_overlap(ctx, box(1), box(2), label).front().dice();
  const double far = surface_distance(ctx, box(1), box(2), label).front().hausdorff_mm;
  Eigen::Affine3d shift = Eigen::Affine3d::Identity();
  shift.translation().x() = 1;
  const std::vector<Eigen::Vector3d> fixed = {{1, 2, 3}}, moving = {{2, 2, 3}};
  const double left = landmark_error(ctx, Transform(shift), fixed, moving).after.mean;
  const DisplacementField still(ctx, geometry, std::vector<float>(3 * geometry.extent.count()));
  const FieldQuality quality = field_quality(ctx, still);
  std::printf("Dice %g, %g mm apart, landmark %g mm\n", dice, far, left);
  return dice == 0.75 && far == 2 && left == 0 && quality.corner_folds == 0 &&
                 quality.jacobian_min == 1
             ? 0
             : 1;
}
