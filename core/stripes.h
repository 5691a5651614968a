// How the memory of several GPUs that are one device is dealt out.
#pragma once

#include <cstddef>
#include <vector>

namespace freeflow {

/// Consecutive bytes on one GPU, of a group's first, second, ...
struct Stripe {
  int gpu;
  std::size_t bytes;
  friend bool operator==(const Stripe&, const Stripe&) = default;
};

/// Deals out `bytes`, which are `planes` arrays of equal length: every GPU gets the same part of
/// each of them, to a whole number of pages, so that a slab of a field lies on one GPU with all its
/// components. The last page is counted whole.
std::vector<Stripe> stripes_of(std::size_t bytes, int planes, int gpus, std::size_t page);

}  // namespace freeflow
