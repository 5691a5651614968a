// How the memory and the work of several GPUs that are one device are dealt out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace freeflow {

/// Consecutive bytes on one GPU, of a group's first, second, ...
struct Stripe {
  int gpu;
  std::size_t bytes;
  friend bool operator==(const Stripe&, const Stripe&) = default;
};

/// What a buffer holds: so many arrays of equal length that follow each other. Every GPU holds the
/// same part of each.
struct Planes {
  int count = 1;
};

/// The first of the slices that a GPU has; those of the next begin where its own end.
inline int first_slice(int slices, int gpu, int gpus) {
  return int(std::int64_t(slices) * gpu / gpus);
}

/// Deals out `bytes` to a whole number of pages. The last page is counted whole.
std::vector<Stripe> stripes_of(std::size_t bytes, const Planes& planes, int gpus, std::size_t page);

}  // namespace freeflow
