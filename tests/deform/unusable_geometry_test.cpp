// Images and fields whose geometry nothing can be indexed with are refused where they are used, on
// every device.
#include <freeflow/deform/field_operations.h>
#include <freeflow/deform/warp.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

class UnusableGeometry : public OnDevice {
 protected:
  static std::vector<Geometry> unusable() {
    std::vector<Geometry> all(6, good());
    all[0].extent.y = 0;
    all[1].spacing.z() = NAN;
    all[2].spacing.x() = 0;
    all[3].origin.y() = INFINITY;
    all[4].direction.col(2) = all[4].direction.col(1);
    all[5].direction(0, 0) = NAN;
    return all;
  }
  static Geometry good() { return plain_geometry({5, 4, 3}); }
};
FREEFLOW_ON_EVERY_DEVICE(UnusableGeometry);

TEST_P(UnusableGeometry, IsRefusedByWarping) {
  const Volume<float> image(ctx, good());
  const DisplacementField u(ctx, good());
  const auto same = Eigen::Affine3d::Identity();
  for (const Geometry& bad : unusable()) {
    const Volume<float> bad_image(ctx, bad);
    const DisplacementField bad_field(ctx, bad);
    EXPECT_THROW(warp(ctx, bad_image, good(), same, nullptr, Interpolation::linear, 0),
                 InvalidArgument);
    EXPECT_THROW(warp(ctx, image, bad, same, nullptr, Interpolation::cubic, 0), InvalidArgument);
    EXPECT_THROW(warp_through(ctx, bad_image, good(), same, u, Interpolation::linear, 0),
                 InvalidArgument);
    EXPECT_THROW(warp_through(ctx, image, good(), same, bad_field, Interpolation::linear, 0),
                 InvalidArgument);
  }
  Eigen::Affine3d nowhere = same;
  nowhere.translation().x() = NAN;
  EXPECT_THROW(warp(ctx, image, good(), nowhere, nullptr, Interpolation::linear, 0),
               InvalidArgument);
}

TEST_P(UnusableGeometry, SoIsWhatWasMovedFrom) {
  Volume<float> image(ctx, good());
  DisplacementField u(ctx, good());
  const Volume<float> there = std::move(image);
  const DisplacementField field = std::move(u);
  const auto same = Eigen::Affine3d::Identity();
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_THROW(warp(ctx, image, good(), same, nullptr, Interpolation::linear, 0), InvalidArgument);
  EXPECT_THROW(warp(ctx, there, good(), same, &u, Interpolation::linear, 0), InvalidArgument)
      << "no displacement at all would be taken for it";
  EXPECT_THROW(compose(ctx, field, u), InvalidArgument);
  EXPECT_THROW(invert(ctx, u), InvalidArgument);
  EXPECT_THROW(jacobian_statistics(ctx, u), InvalidArgument);
  // NOLINTEND(bugprone-use-after-move)
}

TEST_P(UnusableGeometry, IsRefusedByOperationsOnFields) {
  const DisplacementField u(ctx, good());
  for (const Geometry& bad : unusable()) {
    const DisplacementField v(ctx, bad);
    EXPECT_THROW(compose(ctx, v, v), InvalidArgument);
    EXPECT_THROW(exponential(ctx, v), InvalidArgument);
    EXPECT_THROW(invert(ctx, v), InvalidArgument);
    EXPECT_THROW(inverse_residual(ctx, v, v), InvalidArgument);
    EXPECT_THROW(jacobian_determinant(ctx, v), InvalidArgument);
    EXPECT_THROW(jacobian_statistics(ctx, v), InvalidArgument);
    EXPECT_THROW(resample(ctx, v, good()), InvalidArgument);
    EXPECT_THROW(resample(ctx, u, bad), InvalidArgument);
  }
}

}  // namespace
}  // namespace freeflow
