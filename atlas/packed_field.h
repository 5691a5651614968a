// A displacement or velocity as it is kept between rounds, in host memory and on
// disk: 16-bit multiples of one power of two, half of what floats take.
#pragma once

#include <cstdint>
#include <vector>

#include <freeflow/deform/displacement_field.h>

namespace freeflow {

struct PackedField {
  Geometry geometry;
  float unit = 0;                       ///< voxels
  std::vector<std::int16_t> multiples;  ///< three planes; empty: the identity

  bool empty() const { return multiples.empty(); }
};

/// The unit is 2^-10 voxel, or the next power of two by which the largest component fits. A
/// component that is not finite becomes 0. Waits.
PackedField pack(Context& ctx, const DisplacementField& field);
/// The same, and the field becomes what unpack gives.
PackedField pack_and_round(Context& ctx, DisplacementField& field);
DisplacementField unpack(Context& ctx, const PackedField& packed);

}  // namespace freeflow
