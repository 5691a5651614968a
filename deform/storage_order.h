// The order in which a grid's voxels are stored. The same anatomy may be stored from left to right
// or from right to left, rows or slices first; brought into one order it is the same array, and
// what is computed of it the same bits.
#pragma once

#include <array>

#include <freeflow/core/volume.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

/// Axis k of the ordered grid runs along axis `axis[k]` of the stored one, backwards where
/// `backwards[k]`.
struct StorageOrder {
  std::array<int, 3> axis = {0, 1, 2};
  std::array<bool, 3> backwards = {false, false, false};

  bool as_stored() const { return *this == StorageOrder(); }
  bool operator==(const StorageOrder&) const = default;
};

/// The order whose axes run nearest to right, front and top (RAS+, what nibabel calls the closest
/// canonical), of any right- or left-handed grid.
StorageOrder canonical_order(const Geometry& stored);

/// The grid in that order: every voxel keeps its place in the world.
Geometry ordered(const Geometry& stored, const StorageOrder& order);
/// The voxels in that order. An empty volume stays empty.
Volume<float> ordered(Context& ctx, const Volume<float>& stored, const StorageOrder& order);
/// The way back: voxels on ordered(stored, order), on the stored grid again. Throws InvalidArgument
/// when they lie on another grid.
Volume<float> as_stored(Context& ctx, const Volume<float>& in_order, const Geometry& stored,
                        const StorageOrder& order);
/// A field on ordered(stored, order), on the stored grid again: the same displacements in the
/// world. An empty field stays empty. Throws InvalidArgument when it lies on another grid.
DisplacementField as_stored(Context& ctx, const DisplacementField& field, const Geometry& stored,
                            const StorageOrder& order);

}  // namespace freeflow
