// Objects that were cut out of what another image shows, as a skull-stripped brain beside a whole
// head. Where both are stripped their edges guide a registration; an edge that one alone has is
// none of the other's, and what lies beyond it was not measured.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <freeflow/core/volume.h>

namespace freeflow {

/// An image in host memory: x fastest, NaN where there is no value.
struct ImageOnHost {
  const Geometry& grid;
  std::span<const float> voxels;
};

/// The value of all corners of the grid that have one, other than `without`; nothing where they
/// differ.
std::optional<float> corner_value(const ImageOnHost& image,
                                  std::optional<float> without = std::nullopt);

/// An image shows more than an object where it holds so many times its volume.
inline constexpr double stripped_volume_ratio = 1.3;

/// What counts of `image` beside `other`, where that shows the object with what surrounds it: a
/// flag for each voxel; empty where all counts. An object has one value around it, in all corners
/// of the grid that have one and a third of the voxels. `other` shows more where, under the affine
/// that aligns the object, it varies half as much at a tenth of the object's width beyond the edge
/// as within. What counts is the object, or, where its inside alone does not tell where it lies
/// (lungs), a tenth of its width more, as the edge does. A part of an object, which two sides of
/// the grid cut, has to share a quarter of its structure, and the other to vary more around it than
/// within: a slab fits in many places. Two linear registrations of some 30 voxels across the
/// object, only where `other` may show more. The context may be of any device: the same flags.
/// Waits.
std::vector<std::uint8_t> stripped_object(Context& ctx, const ImageOnHost& image,
                                          const ImageOnHost& other);

}  // namespace freeflow
