// The default pipeline, what ffdreg and fluidreg do with two images: a linear stage that takes any
// starting rotation, then a nonrigid model from there. Ten lines register two images:
//
//   freeflow::Context ctx(freeflow::Device::parse("auto"));
//   const freeflow::RegistrationResult r = freeflow::register_images(ctx, fixed, moving);
//   // moving(r.affine(x + r.displacement(x))) matches fixed(x)
#pragma once

#include <optional>
#include <span>
#include <variant>

#include <freeflow/registration/ffd/ffd.h>
#include <freeflow/registration/flow/demons.h>
#include <freeflow/registration/flow/flow.h>
#include <freeflow/registration/flow/fluid.h>
#include <freeflow/registration/linear/linear.h>
#include <freeflow/registration/search/discrete_start.h>

namespace freeflow {

/// The nonrigid model with its options, which hold the measure, the start and whether the inverse
/// is wanted.
using NonrigidModel = std::variant<FlowOptions, FfdOptions, FluidOptions, DemonsOptions>;

struct RegistrationOptions {
  NonrigidModel model;
  /// The stage before the nonrigid one, with its measure, from its initial affine; empty: none.
  /// There is none either where the model starts from a displacement or a velocity, which no linear
  /// transform found under it could be written after.
  std::optional<LinearModel> linear = LinearModel::affine;
  /// Between the two: a displacement for the model to start from, and the levels that look for less
  /// than it has are left out. There is none either where the model starts from a displacement or a
  /// velocity, or keeps a velocity (symmetric flows, log-domain demons).
  StartKind start = StartKind::automatic;
  DiscreteStartOptions discrete_start = {};
  /// Runs levels of few voxels, too (first_trusted_level), as iterations for each of them do.
  bool every_level = false;

  /// Throws InvalidArgument with the field and its mend.
  void validate() const;
  const LevelOptions& levels() const;
};

/// Registers. The nonrigid model works on the fixed image's content (PreparedImage::content) and
/// its displacement goes on beyond it with the values of its border, unless the model starts from a
/// displacement or velocity of the caller's, keeps a velocity, or returns control points;
/// it leaves out levels of few voxels unless told to run every level. register_flow and its like,
/// called alone, work on the whole grid and on all levels. Where no linear transform is better than
/// the start the start is kept, and RegistrationResult::linear says so (start_kept). Fixed and
/// moving may live on different grids; the context's device holds them. Throws InvalidArgument
/// for unusable options, geometry or device, RegistrationError for images without content or
/// overlap, DeviceError, and Cancelled when the observer asks.
RegistrationResult register_images(Context& ctx, const Volume<float>& fixed,
                                   const Volume<float>& moving,
                                   const RegistrationOptions& options = {}, const Masks& masks = {},
                                   Observer* observer = nullptr);
/// The same of images of several channels, such as T1 and T2 or a network's features: fixed[k] is
/// compared with moving[k], all fixed channels lie on one grid and all moving ones, and
/// SimilarityChoice::channel_weights says how much each counts. The result's bits depend on the
/// order: the first says where the object is.
///
///   const freeflow::Volume<float> fixed[] = {t1.lend(), features.lend()}, moving[] = {...};
///   register_images(ctx, fixed, moving);
RegistrationResult register_images(Context& ctx, std::span<const Volume<float>> fixed,
                                   std::span<const Volume<float>> moving,
                                   const RegistrationOptions& options = {}, const Masks& masks = {},
                                   Observer* observer = nullptr);
/// The same of images that are kept for further registrations.
RegistrationResult register_images(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                                   const RegistrationOptions& options = {},
                                   Observer* observer = nullptr);

/// What a registration will be given, as far as its memory depends on it.
struct RegistrationInputs {
  Geometry fixed, moving;
  bool fixed_mask = false, moving_mask = false;
  std::optional<Geometry> initial_displacement;  ///< or velocity
  std::size_t channels = 1;
  /// The caller keeps the volumes (lent, or given by reference); false: a PreparedImage has them
  /// for good, and they are in memory once whatever their order.
  bool images_kept = true;
};

/// Device memory that it will need at most, in bytes, the inputs and the result included: counted
/// in a rehearsal of the very work, on the whole fixed grid. Of an object that fills its field: the
/// linear stage of one far smaller goes to finer levels and takes more. Throws InvalidArgument for
/// unusable options or geometry.
std::size_t predict_bytes(const Context& ctx, const RegistrationInputs& inputs,
                          const RegistrationOptions& options);
std::size_t predict_bytes(const Context& ctx, const RegistrationInputs& inputs,
                          const LinearOptions& options);

}  // namespace freeflow
