// How the memory and the work of several GPUs that are one device are dealt out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <freeflow/core/views.h>

namespace freeflow {

/// Consecutive bytes on one GPU, of a group's first, second, ...
struct Stripe {
  int gpu;
  std::size_t bytes;
  friend bool operator==(const Stripe&, const Stripe&) = default;
};

/// What a buffer holds: `count` arrays of equal length that follow each other, each gone through in
/// bands of so many elements, in one where that is 0. Every GPU holds the same part of each band.
struct Planes {
  int count = 1;
  std::size_t band = 0;
};

/// A volume of more than four times as many voxels is gone through in bands of slices of so many:
/// what takes it slab by slab (FfdOptions::slab_voxels) then finds of each a part on every GPU.
inline constexpr std::size_t band_voxels = std::size_t(1) << 26;

/// The slices of a band, all where there is one.
inline int band_slices(Extent n) {
  if (n.count() <= 4 * band_voxels) return n.z;
  return int(std::max<std::size_t>(1, band_voxels / (std::size_t(n.x) * std::size_t(n.y))));
}
inline Planes planes_of(Extent n, int count = 1) {
  return {count, std::size_t(band_slices(n)) * std::size_t(n.x) * std::size_t(n.y)};
}

/// Deals out `bytes` to a whole number of pages; planes.band is in bytes. The last page is counted
/// whole.
std::vector<Stripe> stripes_of(std::size_t bytes, const Planes& planes, int gpus, std::size_t page);

}  // namespace freeflow
