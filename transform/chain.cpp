#include <freeflow/transform/chain_body.h>

#include <string>

namespace freeflow {

ChainPoint chain_point(const Context& ctx, const Transform& transform, const Geometry& grid,
                       const Geometry& image) {
  const std::vector<Transform::Link>& links = transform.links();
  require(links.size() <= Transform::most_links, "a transform of " + std::to_string(links.size()) +
                                                     " displacement fields is longer than " +
                                                     std::to_string(Transform::most_links) +
                                                     ": compose some of them first");
  const auto target = [&](std::size_t k) -> const Geometry& {
    return k < links.size() ? links[k].field->geometry() : image;
  };
  ChainPoint point;
  point.links = int(links.size());
  point.first = index_map(grid, transform.first(), target(0));
  for (std::size_t k = 0; k < links.size(); ++k) {
    require_on_device(ctx, *links[k].field);
    point.link[k] = {links[k].field->view(),
                     index_map(links[k].field->geometry(), links[k].after, target(k + 1))};
  }
  return point;
}

}  // namespace freeflow
