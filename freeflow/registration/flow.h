// Nonrigid registration by a greedy compositive flow (Chefd'hotel, Hermosillo and Faugeras 2002; Ledig 2012), coarse to fine:
// moving(affine(x + u(x))) is brought to match fixed(x) by many small steps,
//   phi <- phi o (id + t v),   v = G_update * force,   then u <- G_field * u.
// The force is that of steepest descent per mm of world motion, so that thick slices are no privilege. t brings the speeds' root mean
// square to 0.3 `step`, and the fastest voxels are bent back so that none moves farther than `step`: scaled by the fastest voxel, as is
// usual, the others stand still (OASIS, two levels: Dice 0.752 against 0.762). Each step is smooth and small against the voxels, so it has
// an inverse, and so has what they compose to. Where sampling still leaves a fold, it is taken out at the end (unfold.h) and reported.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <freeflow/registration/ffd.h>
#include <freeflow/regularize/navier.h>
#include <freeflow/regularize/smoother.h>
#include <freeflow/regularize/symmetric_kl.h>

namespace freeflow {

enum class FlowModel {
  compositive,  ///< as above
  fluid,        ///< a viscous fluid in small displacements with regridding, and the unbiased term (fluid.h)
  demons        ///< as DemonsKind says; with ssd the force is the demons' own (demons_force.h), with other measures it is scaled as above
};
std::optional<FlowModel> parse_flow_model(std::string_view name);

enum class DemonsKind {
  log,  ///< log-domain diffeomorphic (Vercauteren 2008): u = exp(v), v <- G_field * (v + t G_update * force), so that -v gives the inverse
  esm,  ///< symmetric forces, composed (Vercauteren 2009): phi <- phi o (id + G_update * force), then u <- G_field * u
  thirion,  ///< the fixed image's gradient drives, added (Thirion 1998): u <- G_field * (u + G_update * force); folds are taken out at the
            ///< end
};
std::optional<DemonsKind> parse_demons(std::string_view name);

enum class VelocityKind {
  gaussian,  ///< the force, smoothed by `sigma_update`
  navier     ///< that of a viscous fluid under the force (navier.h); not for demons, which smooth an update
};
std::optional<VelocityKind> parse_velocity(std::string_view name);

/// A standard deviation, in mm or in voxels of the level: for the update of the smallest voxel side, the same length on all axes; for the
/// field of each axis' own.
struct Sigma {
  double value = 1;
  bool in_mm = false;
};

struct FlowOptions {
  FlowModel model = FlowModel::compositive;
  DemonsKind demons = DemonsKind::log;
  /// flow and log-domain demons: both images pull on one stationary velocity v, (force forth - force back) / 2, the one at exp(v), the
  /// other at exp(-v); they meet at exp(v / 2). The result's inverse is exp(-v) itself. On one grid with the identity to start from,
  /// swapped images give swapped results to the bit; else to what resampling the moving image to the fixed grid changes.
  bool symmetric = false;
  SimilarityChoice similarity{SimilarityKind::lncc};
  int levels = 4;
  std::vector<int> iterations;  ///< one value, or one per level, coarse to fine; empty: 12 on the finest, then 40, 80, 100
  Sigma sigma_update{1.7};
  std::vector<Sigma> sigma_field;  ///< one value, or one per level; empty: 0.5 voxel, 0.3 on the finest. The fluid has none
  double step = 0.5;               ///< largest motion of one iteration, in the smallest voxel side of the level; at most 1
  Smoother smoother = Smoother::automatic;
  VelocityKind velocity = VelocityKind::gaussian;
  Viscosity viscosity;
  double kl = 0;  ///< fluid, flow: weight of the symmetric Kullback-Leibler term (symmetric_kl.h) beside the measure
  KlKernel force_kernel = KlKernel::reuse;
  double tolerance = 1e-4;                                ///< ends when ten iterations lower the cost by less than this share of it
  Eigen::Affine3d initial = Eigen::Affine3d::Identity();  ///< world transform, fixed point to moving point (mm, LPS)
  /// Starts at x -> initial(x + u(x)), u on any grid; it must live as long as the registration. Not for what keeps a velocity: a symmetric
  /// flow and log-domain demons. Only the coarsest level sees it, so take one level to refine what is fine already.
  const DisplacementField* initial_displacement = nullptr;

  /// Throws InvalidArgument with the field and its mend.
  void validate() const;
  int iterations_of_level(int level) const;
  Sigma sigma_field_of_level(int level) const;
};

/// Registers. Fixed and moving may live on different grids. Throws InvalidArgument for unusable options or geometry,
/// RegistrationError for images without content or overlap, DeviceError, and Cancelled when the observer asks.
RegistrationResult register_flow(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const FlowOptions& options = {},
                                 const Masks& masks = {}, Observer* observer = nullptr);

/// Device memory that register_flow will need at most, in bytes, the two images included. Throws InvalidArgument for unusable options.
std::size_t predict_flow_bytes(const Context& ctx, const Geometry& fixed, const Geometry& moving, const FlowOptions& options,
                               const Masks& masks = {});

}  // namespace freeflow
