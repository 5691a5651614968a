// What flow, fluid and demons have in common: they move by many small steps, each a smoothed force.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <freeflow/registration/levels/level_options.h>
#include <freeflow/regularize/smoother.h>

namespace freeflow {

/// A standard deviation, in mm or in voxels of the level: for the update of the smallest voxel
/// side, the same length on all axes; for the field of each axis' own.
struct Sigma {
  double value = 1;
  bool in_mm = false;
};

/// How a force becomes a velocity.
enum class VelocityKind {
  gaussian,  ///< smoothed by `sigma_update`
  navier     ///< that of a viscous fluid under the force (navier.h)
};
std::optional<VelocityKind> parse_velocity(std::string_view name);

/// Of LevelOptions: four levels, the automatic measure; empty `iterations` are 20 on the finest
/// level, then 40, 80, 100.
struct StepOptions : LevelOptions {
  Sigma sigma_update{1.7};
  Smoother smoother = Smoother::automatic;
  /// largest motion of one iteration, in the side of the level's smallest voxel face (fluid and
  /// demons: in its smallest side); at most 1
  double step = 0.5;
  /// share of the cost that ten iterations must gain, five of a diffusing flow, which first halves
  /// its step, up to three times
  double tolerance = 1e-4;

  StepOptions() {
    similarity.kind = SimilarityKind::automatic;
    levels = 4;
  }
  int iterations_of_level(int level) const;

 protected:
  void validate_steps(const char* model) const;
};

/// The Gaussian smoothing of a displacement or velocity after every step: one value, or one per
/// level; empty: 0.6 voxel, but of a flow the diffusion.
struct FieldSigmas : std::vector<Sigma> {
  using vector::vector;
  Sigma of_level(int level) const;
  /// Throws InvalidArgument naming `field`.
  void validate(const char* field, int levels) const;
};

}  // namespace freeflow
