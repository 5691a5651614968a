// A start for large motion: which of many displacements fits best, tried one by one where a
// gradient would have to find its way. Both images are described by their self-similarity (mind.h)
// on a coarse grid that follows the object's size, every cell of it tries all displacements of a
// window, and the coupled convex iteration makes neighbours agree (Heinrich, Papiez, Schnabel and
// Handels, "Non-parametric discrete registration with convex optimisation", WBIR 2014); once more
// about the result on cells half as wide. Both directions are searched; where one does not
// confirm the other, as beyond an image's end, cells follow those that are confirmed; then both are
// made inverse to each other (Siebert, Grossbroehmer, Hansen and Heinrich, "ConvexAdam", IEEE TMI
// 2024). Lengths are shares of the object, intensities shares of their range: neither unit matters.
// Same bits on every device.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <freeflow/deform/displacement_field.h>
#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/registration/masks.h>
#include <freeflow/registration/observer.h>
#include <freeflow/registration/search/start_record.h>

namespace freeflow {

/// Along each axis of the fixed image, for StartKind::automatic to search: two coarse cells. A slab
/// thinner than that finds what it likes across.
inline constexpr int fewest_voxels_of_start = 8;

enum class StartKind {
  automatic,  ///< discrete where the motion is large and the images bear it out (StartRecord)
  discrete,
  none
};
std::optional<StartKind> parse_start(std::string_view name);  ///< auto, discrete, none

struct DiscreteStartOptions {
  /// of the window in every direction, in parts of the fixed image's sides; 0.02 to 0.4
  double reach = 0.15;
  /// of the coarse grid along a side of the fixed image, were it a cube; 16 to 128
  double voxels = 80;
  /// Of the images' channels, as SimilarityChoice::channel_weights; register_images() takes those.
  std::vector<double> channel_weights = {};
  /// Leaves the finer cells out where the coarse ones show that the motion is small (judge()).
  bool only_large = false;

  /// Throws InvalidArgument with the field, as DiscreteStartOptions::field, and its mend.
  void validate() const;
};

struct DiscreteStart {
  /// u on the cells' grid: moving(affine(x + u(x))) matches fixed(x). For
  /// LevelOptions::initial_displacement.
  DisplacementField displacement;
  StartRecord record;
};

/// Searches. The affine maps fixed to moving points (mm, LPS). Waits. Throws InvalidArgument for
/// unusable options, geometry or device, RegistrationError for images without content, DeviceError,
/// and Cancelled when the observer asks.
DiscreteStart discrete_start(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                             const Eigen::Affine3d& affine,
                             const DiscreteStartOptions& options = {},
                             Observer* observer = nullptr);
DiscreteStart discrete_start(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving,
                             const Eigen::Affine3d& affine,
                             const DiscreteStartOptions& options = {}, const Masks& masks = {},
                             Observer* observer = nullptr);

}  // namespace freeflow
