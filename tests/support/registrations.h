// What the tests of whole registrations share: a run on a phantom by any pipeline, and the checks
// that hold for both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include <freeflow/registration/register_images.h>

#include "support/warped_phantom.h"

namespace freeflow::test {

/// Runs a model alone from a phantom's images, without what else finds a start, and inverts the
/// result.
template <class Options>
RegistrationResult run(Context& ctx, const Phantom& p, Options options, const Masks& masks = {},
                       Observer* observer = nullptr) {
  options.with_inverse = true;
  const RegistrationOptions nonrigid{std::move(options), std::nullopt, StartKind::none};
  return register_images(ctx, Volume<float>(ctx, p.fixed, p.f), Volume<float>(ctx, p.moving, p.m),
                         nonrigid, masks, observer);
}

/// Seven-millimetre slices.
inline Phantom thin_phantom(bool other_contrast) {
  return Phantom(centred(oblique_geometry({46, 50, 9}, {1.4, 1.3, 7})),
                 centred(oblique_geometry({48, 48, 10}, {1.4, 1.4, 6.5})), other_contrast);
}

/// The usual phantom, its moving image turned and carried away.
inline Phantom turned_phantom(double angle = 0.35) {
  Phantom p = usual_phantom(false);
  const Eigen::AngleAxisd turn(angle, Eigen::Vector3d(1, 2, -1).normalized());
  p.moving.direction = turn * p.moving.direction;
  p.moving.origin = turn * p.moving.origin + Eigen::Vector3d(9, -12, 6);
  return p;
}

/// Options of a short run.
template <class Options>
Options two_levels() {
  Options o;
  o.levels = 2;
  o.iterations = {20, 4};
  return o;
}

/// Carries the moving image far away, and the start with it.
template <class Options>
void move_away(Phantom& p, Options& options) {
  const Eigen::Vector3d shift(40, -30, 20);
  p.moving.origin += shift;
  options.initial.translation() = shift;
}

/// Gives the fixed image a bright shell that the moving image lacks. Returns the mask that leaves
/// it out.
inline Volume<float> shell_and_mask(Context& ctx, Phantom& p) {
  const Eigen::Affine3d world = p.fixed.index_to_world();
  const auto radius = [&](int x, int y, int z) {
    return (world * Eigen::Vector3d(x, y, z)).norm();
  };
  p.f = voxelwise(p.fixed.extent, [&](int x, int y, int z) {
    return radius(x, y, z) > 34 ? 30.0 : double(p.f[p.fixed.extent.offset(x, y, z)]);
  });
  return Volume<float>(ctx, p.fixed, voxelwise(p.fixed.extent, [&](int x, int y, int z) {
                         return radius(x, y, z) < 32;
                       }));
}

/// The longest displacement, in smallest voxel sides.
inline double longest_motion(Context& ctx, const DisplacementField& u) {
  const std::vector<float> planes = u.to_host(ctx);
  const std::size_t n = u.extent().count();
  const Eigen::Vector3d sides = u.geometry().spacing / u.geometry().spacing.minCoeff();
  double longest = 0;
  for (std::size_t i = 0; i < n; ++i)
    longest = std::max(
        longest,
        sides.cwiseProduct(Eigen::Vector3d(planes[i], planes[i + n], planes[i + 2 * n])).norm());
  return longest;
}

/// Over all components of two fields.
struct FieldDistance {
  double mean = 0, max = 0;
};
inline FieldDistance distance_between(const std::vector<float>& a, const std::vector<float>& b) {
  FieldDistance d;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double one = std::abs(a[i] - b[i]);
    d.mean += one / double(a.size());
    d.max = std::max(d.max, one);
  }
  return d;
}

/// The same displacement and inverse by one CPU thread, by so many, and twice on the device of ctx.
template <class Options>
void expect_same_bits_everywhere(Context& ctx, const Phantom& p, const Options& options,
                                 std::initializer_list<int> threads = {3}) {
  const auto bits = [&](Context& c) {
    const RegistrationResult r = run(c, p, options);
    std::vector<float> all = r.displacement.to_host(c), inverse = r.inverse->field.to_host(c);
    all.insert(all.end(), inverse.begin(), inverse.end());
    return all;
  };
  Context one({}, 1);
  const std::vector<float> expected = bits(one);
  EXPECT_EQ(bits(ctx), expected);
  EXPECT_EQ(bits(ctx), expected);
  for (const int n : threads) {
    Context several({}, n);
    EXPECT_EQ(bits(several), expected) << n << " threads";
  }
}

/// What run() takes at most.
template <class Options>
std::size_t predict_run(const Context& ctx, const Phantom& p, Options options,
                        const Masks& masks = {}) {
  options.with_inverse = true;
  RegistrationInputs inputs{p.fixed, p.moving, masks.fixed != nullptr, masks.moving != nullptr, {}};
  if (options.initial_displacement)
    inputs.initial_displacement = options.initial_displacement->geometry();
  return predict_bytes(ctx, inputs,
                       RegistrationOptions{std::move(options), std::nullopt, StartKind::none});
}

/// The phantom's deformation in voxels of a grid.
inline std::vector<float> true_planes(const Geometry& grid) {
  const Eigen::Affine3d world = grid.index_to_world(), back = grid.world_to_index();
  return field_planes(grid.extent, [&](int x, int y, int z) -> Eigen::Vector3d {
    return back.linear() * true_displacement(world * Eigen::Vector3d(x, y, z));
  });
}

/// Without iterations the result is where it started: the mean distance between them, in voxels.
/// The start lies on the fixed grid or on one that is turned, finer and reaches farther. The memory
/// is within what was predicted.
template <class Options>
double distance_from_start(Context& ctx, const Phantom& p, Options options, bool other_grid = false,
                           int levels = 1) {
  Geometry grid = p.fixed;
  if (other_grid) {
    grid.direction =
        Eigen::AngleAxisd(0.4, Eigen::Vector3d(1, -1, 2).normalized()) * grid.direction;
    grid.spacing.setConstant(1.2);
    grid.extent = {90, 90, 90};
    grid = centred(grid);
  }
  Context fresh(ctx.device());
  const DisplacementField u(fresh, grid, true_planes(grid));
  options.initial_displacement = &u;
  options.levels = levels;
  options.iterations = {0};
  const double distance =
      distance_between(run(fresh, p, options).displacement.to_host(fresh), true_planes(p.fixed))
          .mean;
  EXPECT_LE(fresh.statistics().peak_bytes, predict_run(fresh, p, options));
  return distance;
}

/// Runs on a fresh context of the device, with a mask or without.
template <class Options>
void expect_memory_as_predicted(const Device& device, const Phantom& p, const Options& options,
                                bool masked = false) {
  Context fresh(device);
  Masks masks;
  Volume<float> mask;
  if (masked) {
    mask = Volume<float>(fresh, p.fixed, std::vector<float>(p.f.size(), 1));
    masks.fixed = &mask;
  }
  run(fresh, p, options, masks);
  EXPECT_LE(fresh.statistics().peak_bytes, predict_run(fresh, p, options, masks));
}

/// Between two iterations nothing is allocated, and the device is waited for once per evaluation,
/// and at most four times more where a fluid has regridded.
struct WaitCounter : Observer {
  explicit WaitCounter(Context& c) : ctx(c) {}
  void on_iteration(const LevelRecord& level) override {
    const ContextStatistics& s = ctx.statistics();
    if (level.iterations.size() > 1) {
      const std::size_t waits = s.synchronizations - synchronizations,
                        needed = std::size_t(level.evaluations - evaluations);
      EXPECT_EQ(s.allocations, allocations);
      EXPECT_GE(waits, needed);
      EXPECT_LE(waits, needed + 4 * std::size_t(level.regriddings - regriddings));
    }
    allocations = s.allocations, synchronizations = s.synchronizations;
    evaluations = level.evaluations, regriddings = level.regriddings;
  }
  Context& ctx;
  std::size_t allocations = 0, synchronizations = 0;
  int evaluations = 0, regriddings = 0;
};

/// Asks to stop when it has been asked four times.
struct Impatient : Observer {
  bool stop_requested() override { return ++asked > 3; }
  int asked = 0;
};

/// Images without overlap and a constant image cannot be registered.
template <class Options>
void expect_hopeless_images_refused(Context& ctx, Phantom p, const Options& options) {
  Options far = options;
  far.initial.translation().x() = 1000;
  EXPECT_THROW(run(ctx, p, far), RegistrationError);
  std::fill(p.m.begin(), p.m.end(), 3.0f);
  EXPECT_THROW(run(ctx, p, options), RegistrationError);
}

}  // namespace freeflow::test
