#include <freeflow/core/stripes.h>

#include <algorithm>

namespace freeflow {

std::vector<Stripe> stripes_of(std::size_t bytes, int planes, int gpus, std::size_t page) {
  std::vector<Stripe> stripes;
  const std::size_t pages = (bytes + page - 1) / page, parts = std::size_t(planes) * gpus;
  std::size_t begin = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t end = part + 1 == parts ? pages : bytes / parts * (part + 1) / page;
    if (end > begin) stripes.push_back({int(part % gpus), (end - begin) * page});
    begin = std::max(begin, end);
  }
  return stripes;
}

}  // namespace freeflow
