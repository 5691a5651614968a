// A hash of the bits that every pipeline finds, a line each: what two kinds of processor must agree
// on (scripts/aarch64). The images are made without functions of the C library, whose last bits may
// differ; registrations use none.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <freeflow/denoise/nonlocal_means.h>

#include "support/pipelines.h"

namespace freeflow {
namespace {

using namespace test;

/// A rotation of rational numbers.
Eigen::Matrix3d turned() {
  Eigen::Matrix3d about_z, about_x;
  about_z << 0.8, -0.6, 0, 0.6, 0.8, 0, 0, 0, 1;
  about_x << 1, 0, 0, 0, 0.96, -0.28, 0, 0.28, 0.96;
  return about_z * about_x;
}

Geometry grid(Extent extent, const Eigen::Vector3d& spacing) {
  Geometry g;
  g.extent = extent;
  g.spacing = spacing;
  g.direction = turned();
  g.origin = Eigen::Vector3d::Zero();
  g.origin = -g.center();
  return g;
}

/// An ellipsoid with a smooth edge and blobs inside, of a point in millimetres.
double object(const Eigen::Vector3d& p) {
  const auto bump = [&](double x, double y, double z, double radius) {
    const double r = (p - Eigen::Vector3d(x, y, z)).squaredNorm() / (radius * radius);
    return 1 / (1 + r * r);
  };
  return 300 * bump(0, 0, 0, 20) + 120 * bump(9, 4, -3, 6) - 90 * bump(-8, 6, 5, 5) +
         70 * bump(2, -10, 8, 4);
}

template <class Warp>
std::vector<float> image(const Geometry& g, const Warp& warp) {
  const Eigen::Affine3d world = g.index_to_world();
  return voxelwise(g.extent, [&](int x, int y, int z) {
    return object(warp(Eigen::Vector3d(world * Eigen::Vector3d(x, y, z))));
  });
}

Phantom portable_phantom() {
  const Geometry fixed = grid({27, 24, 19}, {1.9, 2.1, 2.6}),
                 moving = grid({25, 26, 20}, {2, 2, 2.4});
  Phantom p(fixed, moving, false);
  p.f = image(fixed, [](const Eigen::Vector3d& x) { return x; });
  p.m = image(moving, [](const Eigen::Vector3d& x) {
    const double pull = 3 / (1 + x.squaredNorm() / 150);
    return Eigen::Vector3d(x.x() + pull, 0.97 * x.y() - 0.5 * pull, x.z() + 0.05 * x.y());
  });
  return p;
}

/// FNV-1a of 64 bits.
std::uint64_t hash(const Bits& bits) {
  std::uint64_t h = 14695981039346656037u;
  for (const float value : bits) {
    std::uint32_t word = 0;
    std::memcpy(&word, &value, sizeof word);
    for (int k = 0; k < 4; ++k) h = (h ^ (word >> 8 * k & 255)) * 1099511628211u;
  }
  return h;
}

void print_hashes() {
  const Phantom p = portable_phantom();
  Context ctx;
  const auto print = [](const char* name, const Bits& bits) {
    std::printf("%016llx  %s\n", static_cast<unsigned long long>(hash(bits)), name);
  };
  print("the images", p.f);
  for (const Named& pipeline : pipelines())
    if (pipeline.name != by_fourier) print(pipeline.name.c_str(), pipeline.run(ctx, p));
  std::vector<float> distance = p.f;
  for (float& v : distance) v = (150 - v) / 20;
  NonlocalMeansOptions surface;
  surface.iterations = 2;
  print("nonlocal means of a surface",
        nonlocal_means(ctx, Volume<float>(ctx, p.fixed, distance), surface).distance.to_host(ctx));
}

}  // namespace
}  // namespace freeflow

int main() { freeflow::print_hashes(); }
