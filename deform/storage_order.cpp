#include <freeflow/deform/storage_order.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/storage_order_body.h>

namespace freeflow {

namespace {

/// Of the voxels of the ordered grid in the stored array.
VoxelPlace place_of(const Extent& stored, const StorageOrder& order) {
  const std::ptrdiff_t stride[3] = {1, stored.x, std::ptrdiff_t(stored.x) * stored.y};
  VoxelPlace place{0, 0, 0, 0};
  std::ptrdiff_t* along[3] = {&place.along_x, &place.along_y, &place.along_z};
  for (int k = 0; k < 3; ++k) {
    const int a = order.axis[k];
    *along[k] = order.backwards[k] ? -stride[a] : stride[a];
    if (order.backwards[k]) place.first += stride[a] * (stored[a] - 1);
  }
  return place;
}

}  // namespace

StorageOrder canonical_order(const Geometry& stored) {
  std::array<int, 3> axes = {0, 1, 2};
  StorageOrder best;
  double most = -1;
  do {  // the stored order comes first, so it stays where another is not better
    double along = 0;
    for (int k = 0; k < 3; ++k) along += std::abs(stored.direction(k, axes[k]));
    if (along > most + 1e-6) {
      most = along;
      best.axis = axes;
    }
  } while (std::next_permutation(axes.begin(), axes.end()));
  for (int k = 0; k < 3; ++k) {
    const double world = stored.direction(k, best.axis[k]);  // LPS
    best.backwards[k] = k < 2 ? world > 0 : world < 0;
  }
  return best;
}

Geometry ordered(const Geometry& stored, const StorageOrder& order) {
  if (order.as_stored()) return stored;
  Geometry out = stored;
  Eigen::Vector3d first = Eigen::Vector3d::Zero();  // stored index of the ordered grid's voxel 0
  int* extent[3] = {&out.extent.x, &out.extent.y, &out.extent.z};
  for (int k = 0; k < 3; ++k) {
    const int a = order.axis[k];
    *extent[k] = stored.extent[a];
    out.spacing[k] = stored.spacing[a];
    out.direction.col(k) = (order.backwards[k] ? -1.0 : 1.0) * stored.direction.col(a);
    if (order.backwards[k]) first[a] = stored.extent[a] - 1;
  }
  out.origin = stored.index_to_world() * first;
  return out;
}

Volume<float> ordered(Context& ctx, const Volume<float>& stored, const StorageOrder& order) {
  if (stored.empty()) return {};
  require_on_device(ctx, stored);
  Volume<float> out(ctx, ordered(stored.geometry(), order));
  for_each_voxel(ctx, out.extent(),
                 OrderVoxelsBody{stored.view().data, place_of(stored.extent(), order), out.view()});
  return out;
}

Volume<float> as_stored(Context& ctx, const Volume<float>& in_order, const Geometry& stored,
                        const StorageOrder& order) {
  if (in_order.empty()) return {};
  require_on_device(ctx, in_order);
  require(same_grid(in_order.geometry(), ordered(stored, order)),
          "the volume does not lie on the ordered grid");
  StorageOrder back;
  for (int k = 0; k < 3; ++k) {
    back.axis[order.axis[k]] = k;
    back.backwards[order.axis[k]] = order.backwards[k];
  }
  Volume<float> out(ctx, stored);
  for_each_voxel(
      ctx, out.extent(),
      OrderVoxelsBody{in_order.view().data, place_of(in_order.extent(), back), out.view()});
  return out;
}

DisplacementField as_stored(Context& ctx, const DisplacementField& field, const Geometry& stored,
                            const StorageOrder& order) {
  if (field.empty()) return {};
  require_on_device(ctx, field);
  require(same_grid(field.geometry(), ordered(stored, order)),
          "the field does not lie on the ordered grid");
  DisplacementField out(ctx, stored);
  StoreFieldBody body{field.view(), place_of(stored.extent, order), {}, {}, out.view().data};
  for (int k = 0; k < 3; ++k) {
    body.component[k] = order.axis[k];
    body.sign[k] = order.backwards[k] ? -1.0f : 1.0f;
  }
  for_each_voxel(ctx, field.extent(), body);
  return out;
}

}  // namespace freeflow
