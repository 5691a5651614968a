#include <freeflow/atlas/packed_field.h>

#include <cmath>

#include <freeflow/atlas/packed_field_body.h>
#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/exact_mean_body.h>

namespace freeflow {

namespace {

Extent all_planes(const Extent& n) { return {n.x, n.y, 3 * n.z}; }

/// rounded: where what was packed goes once more, or null.
PackedField packed_of(Context& ctx, const DisplacementField& field, float* rounded) {
  require_on_device(ctx, field);
  const Extent planes = all_planes(field.extent());
  const std::size_t count = planes.count();
  const Buffer<double> largest(ctx, 1);
  reduce(ctx, count, 1, LargestMagnitudeBody{{}, field.view().data}, ReduceWorkspace(ctx, count, 1),
         largest.data());
  constexpr double usual = 1.0 / 1024, reach = 32767;
  const double needed = largest.to_host(ctx)[0] / (reach - 1);
  const float unit = float(needed > usual ? std::exp2(std::ceil(std::log2(needed))) : usual);
  Buffer<std::int16_t> multiples(ctx, count);
  for_each_voxel(ctx, planes, PackBody{field.view().data, multiples.data(), planes, 1 / unit});
  if (rounded) for_each_voxel(ctx, planes, UnpackBody{multiples.data(), rounded, planes, unit});
  return {field.geometry(), unit, multiples.to_host(ctx)};
}

}  // namespace

PackedField pack(Context& ctx, const DisplacementField& field) {
  return packed_of(ctx, field, nullptr);
}

PackedField pack_and_round(Context& ctx, DisplacementField& field) {
  return packed_of(ctx, field, field.view().data);
}

DisplacementField unpack(Context& ctx, const PackedField& packed) {
  const Extent planes = all_planes(packed.geometry.extent);
  const Buffer<std::int16_t> multiples(ctx, packed.multiples);
  DisplacementField field(ctx, packed.geometry);
  for_each_voxel(ctx, planes, UnpackBody{multiples.data(), field.view().data, planes, packed.unit});
  return field;
}

}  // namespace freeflow
