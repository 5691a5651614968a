#include <apps/memory_check.h>

#include <algorithm>
#include <string>

#include <freeflow/core/memory.h>

namespace freeflow::apps {

std::size_t nonrigid_writing_bytes(const Geometry& fixed, const Geometry& moving, bool whole) {
  constexpr std::size_t field = 3 * sizeof(float), both_directions = 2,
                        twice_in_double = 4;  // for HDF5, and its file in memory
  const std::size_t voxels = fixed.extent.count(), images = linear_writing_bytes(fixed, moving);
  if (whole) return (both_directions + twice_in_double) * field * voxels + images;
  return both_directions * field * voxels + images;
}

std::size_t linear_writing_bytes(const Geometry& fixed, const Geometry& moving) {
  return sizeof(float) * (fixed.extent.count() + moving.extent.count());
}

void require_memory(const Context& ctx, std::size_t predicted, std::size_t writing) {
  const std::string what = "the registration",
                    coarser = "resample the images to a coarser grid, or crop them to the object";
  if (ctx.device().is_cuda()) {
    require_free(ctx, predicted, what, "close other programs, take --device cpu, " + coarser);
    require_free_host(writing, "writing the results", "close other programs, or " + coarser);
  } else {
    // While it writes it holds no more than half of what the registration took.
    require_free_host(std::max(predicted, predicted / 2 + writing), what,
                      "close other programs, take a GPU, " + coarser);
  }
}

}  // namespace freeflow::apps
