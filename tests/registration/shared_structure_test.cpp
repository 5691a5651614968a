// What tells poses apart that lie far from each other, where shadings mislead a joint histogram.
#include <freeflow/registration/linear/shared_structure.h>

#include <freeflow/registration/linear/linear.h>
#include <freeflow/similarity/intensity_range.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

Geometry centred_grid() {
  Geometry g{{60, 56, 44}, {1, 1, 1.3}};
  g.origin = -g.center();
  return g;
}

/// A textured ball with a shading of +-65 % along a direction.
Volume<float> shaded(Context& ctx, const Eigen::Vector3d& along, const Geometry& g) {
  return sample_world(ctx, g, [&](const Eigen::Vector3d& p) {
    const double edge = 1 / (1 + std::exp(p.norm() - 22));
    const double shading = 0.65 * std::clamp(p.dot(along) / 22, -1.0, 1.0);
    return edge * (2.5 + 0.6 * texture(1.5 * p)) * (1 + shading);
  });
}

Eigen::Affine3d quarter_turn() {
  return Eigen::Affine3d(Eigen::AngleAxisd(EIGEN_PI / 2, Eigen::Vector3d::UnitZ()));
}

class SharedStructureOf : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(SharedStructureOf);

TEST_P(SharedStructureOf, IsThatOfThePartsAndNotOfTheShading) {
  const Geometry g = centred_grid();
  const Volume<float> fixed = shaded(ctx, Eigen::Vector3d::UnitX(), g),
                      moving = shaded(ctx, Eigen::Vector3d::UnitY(), g);
  const Eigen::Affine3d as_it_lies = Eigen::Affine3d::Identity();
  const LinearLevel level{fixed, moving, {}, {}, {{fixed, moving, index_map(g, as_it_lies, g)}}};
  const std::vector<ChannelRanges> ranges{
      {robust_range(ctx, fixed, "the image"), robust_range(ctx, moving, "the image")}};
  SharedStructure structure(ctx, level, ranges, {1});
  const double right = structure.share(as_it_lies);
  EXPECT_GT(right, 1.2 * structure.share(quarter_turn()));
  EXPECT_LE(right, 1);
  // Half of the fixed voxels have nothing to share.
  const Eigen::Affine3d beyond(Eigen::Translation3d(g.spacing.x() * 30, 0, 0));
  EXPECT_LT(structure.share(beyond), 0.5);
}

TEST_P(SharedStructureOf, IsAllOfAnImageWithItself) {
  const Geometry g = centred_grid();
  const Volume<float> image = sample_world(ctx, g, [](const Eigen::Vector3d& p) {
    return texture(p);  // no window is flat
  });
  const LinearLevel level{
      image, image, {}, {}, {{image, image, index_map(g, Eigen::Affine3d::Identity(), g)}}};
  const IntensityRange range = robust_range(ctx, image, "the image");
  SharedStructure structure(ctx, level, {{range, range}}, {1});
  EXPECT_GT(structure.share(Eigen::Affine3d::Identity()), 0.9);
}

TEST_P(SharedStructureOf, DecidesWhereShadingsPullTowardsATurn) {
  const Geometry g = centred_grid();
  const Volume<float> fixed = shaded(ctx, Eigen::Vector3d::UnitX(), g),
                      moving = shaded(ctx, Eigen::Vector3d::UnitY(), g);
  LinearOptions o;
  o.model = LinearModel::rigid;
  const Eigen::Affine3d found = register_linear(ctx, fixed, moving, o).affine;
  const Eigen::Vector3d edge(15, 10, -5);
  EXPECT_LT((found * edge - edge).norm(), 3);
}

/// A textured column through the whole grid, with a shading of +-80 % along a direction.
Volume<float> shaded_column(Context& ctx, const Eigen::Vector3d& along) {
  Geometry g{{40, 36, 32}, {2, 2, 2}};
  g.origin = -g.center();
  return sample_world(ctx, g, [&](const Eigen::Vector3d& p) {
    const double edge = 1 / (1 + std::exp(p.head<2>().norm() - 32));
    const double shading = 0.8 * std::clamp(p.dot(along.normalized()) / 40, -1.0, 1.0);
    return edge * (2.5 + 0.5 * texture(p)) * (1 + shading);
  });
}

TEST_P(SharedStructureOf, LeadsADescentThatAShadingLedAstray) {
  const Volume<float> fixed = shaded_column(ctx, {0.8, 0.4, 0.5}),
                      moving = shaded_column(ctx, {0, 0.1, 0.8});
  LinearOptions o;
  o.initial.translation() = Eigen::Vector3d(25, 20, 40);
  const Eigen::Affine3d found = register_linear(ctx, fixed, moving, o).affine;
  for (int axis = 0; axis < 3; ++axis) {
    const Eigen::Vector3d edge = 30 * Eigen::Vector3d::Unit(axis);
    EXPECT_LT((found * edge - edge).norm(), 2) << "27 mm by the joint histogram alone";
  }
}

}  // namespace
}  // namespace freeflow
