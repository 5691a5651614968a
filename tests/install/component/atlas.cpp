// A template of two blobs that lie apart.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <freeflow/atlas/atlas.h>

using namespace freeflow;

int main() {
  Context ctx(Device::parse("cpu"));
  std::vector<AtlasSubject> subjects;
  for (const int shift : {-1, 1}) {
    AtlasSubject s;
    s.name = shift < 0 ? "left" : "right";
    s.geometry.extent = {24, 24, 24};
    s.channels.emplace_back();
    for (int z = 0; z < 24; ++z)
      for (int y = 0; y < 24; ++y)
        for (int x = 0; x < 24; ++x)
          s.channels[0].push_back(float(
              1 / (1 + std::exp(std::hypot(x - 11.5 - shift, 1.3 * (y - 11.5), 0.8 * (z - 11.5)) -
                                6))));
    subjects.push_back(s);
  }
  AtlasOptions options;
  FlowOptions flow;
  flow.levels = 2;
  flow.iterations = {4, 2};
  options.model = flow;
  options.rounds = {2};
  options.search = LinearSearch::gradient;
  const AtlasResult atlas = build_atlas(ctx, subjects, options);
  const std::vector<float> made = atlas.channels[0].to_host(ctx);
  double mass = 0, at = 0;
  for (int i = 0; i < int(made.size()); ++i)
    if (std::isfinite(made[std::size_t(i)]))
      mass += made[std::size_t(i)], at += made[std::size_t(i)] * (i % 24);
  std::printf("middle %g\n", at / mass);
  return std::abs(at / mass - 11.5) < 0.3 ? 0 : 1;
}
