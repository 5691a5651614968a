// Pairs of 8-bit images of any size for the benchmarks: uniform random, constant, a structured
// head, real brains.
#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "support/phantoms.h"
#include "support/real_data.h"

namespace freeflow::bench {

using test::BytePair;

enum class Content { random, constant, structured, real };

inline const char* name_of(Content content) {
  constexpr const char* names[] = {"random", "constant", "structured", "real"};
  return names[int(content)];
}

inline const std::optional<BytePair>& real_pair() {
  static const std::optional<BytePair> pair = test::oasis_byte_pair();
  return pair;
}

inline bool available(Content content) { return content != Content::real || real_pair(); }

inline std::vector<Content> contents() {
  std::vector<Content> all{Content::random, Content::constant, Content::structured};
  if (available(Content::real)) all.push_back(Content::real);
  return all;
}

namespace detail {

inline std::vector<std::uint8_t> random_bytes(std::size_t n, std::uint32_t state) {
  std::vector<std::uint8_t> bytes(n);
  for (std::uint8_t& b : bytes) b = std::uint8_t((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

/// A textured head with noise in empty air.
inline std::vector<std::uint8_t> head(Extent e, double shift, std::uint32_t seed) {
  const std::vector<std::uint8_t> noise = random_bytes(e.count(), seed);
  std::vector<std::uint8_t> bytes(e.count());
#pragma omp parallel for
  for (int z = 0; z < e.z; ++z)
    for (int y = 0; y < e.y; ++y)
      for (int x = 0; x < e.x; ++x) {
        const std::size_t i = (std::size_t(z) * e.y + y) * e.x + x;
        const Eigen::Vector3d p((x - 0.5 * e.x) / e.x * 200 + shift, (y - 0.5 * e.y) / e.y * 200,
                                (z - 0.5 * e.z) / e.z * 200);
        const bool inside = p.norm() < 80;
        bytes[i] =
            std::uint8_t(inside ? 120 + 35 * test::texture(p) + noise[i] / 32 : noise[i] / 86);
      }
  return bytes;
}

/// The real brains, mirrored side by side until they fill the size: noise and edges stay as they
/// are.
inline std::vector<std::uint8_t> fill(const std::vector<std::uint8_t>& image, Extent from,
                                      Extent to) {
  const auto mirror = [](int i, int n) { return i / n % 2 ? n - 1 - i % n : i % n; };
  std::vector<std::uint8_t> bytes;
  bytes.reserve(to.count());
  for (int z = 0; z < to.z; ++z)
    for (int y = 0; y < to.y; ++y) {
      const std::uint8_t* row =
          image.data() + (std::size_t(mirror(z, from.z)) * from.y + mirror(y, from.y)) * from.x;
      for (int x = 0; x < to.x; ++x) bytes.push_back(row[mirror(x, from.x)]);
    }
  return bytes;
}

}  // namespace detail

/// The pair of that content and size, made once.
inline const BytePair& cached_pair(Content content, Extent e) {
  static std::map<std::tuple<Content, int, int, int>, BytePair> made;
  BytePair& pair = made[{content, e.x, e.y, e.z}];
  if (!pair.fixed.empty()) return pair;
  pair.extent = e;
  const std::size_t n = e.count();
  switch (content) {
    case Content::random:
      pair.fixed = detail::random_bytes(n, 1), pair.moving = detail::random_bytes(n, 2);
      break;
    case Content::constant: pair.fixed.assign(n, 77), pair.moving.assign(n, 200); break;
    case Content::structured:
      pair.fixed = detail::head(e, 0, 3), pair.moving = detail::head(e, 4, 4);
      break;
    case Content::real:
      pair.fixed = detail::fill(real_pair()->fixed, real_pair()->extent, e),
      pair.moving = detail::fill(real_pair()->moving, real_pair()->extent, e);
  }
  return pair;
}

}  // namespace freeflow::bench
