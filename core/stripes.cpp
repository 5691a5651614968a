#include <freeflow/core/stripes.h>

namespace freeflow {

std::vector<Stripe> stripes_of(std::size_t bytes, const Planes& planes, int gpus,
                               std::size_t page) {
  std::vector<Stripe> stripes;
  const std::size_t each = bytes / std::size_t(planes.count), pages = (bytes + page - 1) / page;
  std::size_t done = 0;  // in pages
  const auto add = [&](int gpu, std::size_t end) {
    if (end <= done) return;
    if (!stripes.empty() && stripes.back().gpu == gpu)
      stripes.back().bytes += (end - done) * page;
    else
      stripes.push_back({gpu, (end - done) * page});
    done = end;
  };
  for (std::size_t plane = 0; plane < std::size_t(planes.count); ++plane)
    for (int gpu = 0; gpu < gpus; ++gpu)
      add(gpu, (plane * each + each / std::size_t(gpus) * std::size_t(gpu + 1)) / page);
  add(gpus - 1, pages);
  return stripes;
}

}  // namespace freeflow
