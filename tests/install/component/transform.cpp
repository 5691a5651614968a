// A chain of an affine and a field, forth and back.
#include <cstdio>
#include <vector>

#include <freeflow/transform/transform.h>
#include <freeflow/transform/transform_operations.h>

using namespace freeflow;

int main() {
  Context ctx(Device::parse("cpu"));
  Geometry geometry;
  geometry.extent = {16, 8, 4};
  std::vector<float> shift(3 * geometry.extent.count(), 0.0f);
  for (std::size_t i = 0; i < geometry.extent.count(); ++i) shift[i] = 1;
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();
  affine.translation().y() = 2;
  const Transform chain(DisplacementField(ctx, geometry, shift), affine);
  const std::vector<Eigen::Vector3d> points = {{5, 4, 2}};
  const std::vector<Eigen::Vector3d> there = map_points(ctx, chain, points);
  const MappedBack back = map_points_back(ctx, chain, there);
  std::printf("to %g %g %g\n", there[0].x(), there[0].y(), there[0].z());
  return (there[0] - Eigen::Vector3d(6, 6, 2)).norm() < 1e-6 &&
                 (back.points[0] - points[0]).norm() < 1e-6
             ? 0
             : 1;
}
