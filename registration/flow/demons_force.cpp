#include <freeflow/registration/flow/demons_force.h>

#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/warp.h>
#include <freeflow/registration/flow/demons_force_body.h>

namespace freeflow {

DemonsForce::DemonsForce(Context& ctx, const ImagePair& images, bool of_thirion)
    : fixed_(images.fixed), moving_(images.moving), map_(images.fixed_to_moving),
      warped_(ctx, images.fixed.geometry()), of_thirion_(of_thirion) {}

void DemonsForce::evaluate(Context& ctx, FieldView<const float> u, double step,
                           FieldView<float> update) {
  warp_values(ctx, moving_.view(), map_, u, warped_.view());
  const Eigen::Vector3d spacing = fixed_.geometry().spacing;
  DemonsForceBody body{fixed_.view(), std::as_const(warped_).view(), update, {}, float(0.5 / step),
                       of_thirion_};
  for (int c = 0; c < 3; ++c) body.per_side[c] = float(spacing.minCoeff() / spacing[c]);
  for_each_voxel(ctx, fixed_.extent(), body);
}

}  // namespace freeflow
