// Linear registration: the rigid, similarity, 9-parameter or affine transform that brings moving(phi(x)) to match fixed(x),
// coarse to fine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <freeflow/registration/linear_parameters.h>
#include <freeflow/registration/observer.h>
#include <freeflow/registration/similarity_choice.h>

namespace freeflow {

enum class LinearSearch {
  /// Overview: all rotations on the coarsest level, in batches; the best few and the start refined by `gradient`.
  /// Good when: nothing is known of the start. The default.
  automatic,
  /// Overview: descent along the gradient from the start, level by level: BFGS, for SSD Gauss-Newton.
  /// Good when: the start is within about 20 degrees and a quarter of the object.
  gradient,
};
std::optional<LinearSearch> parse_linear_search(std::string_view name);

struct LinearOptions {
  SimilarityKind similarity = SimilarityKind::nmi;
  int bins = 64;
  HistogramScheme histogram_scheme = HistogramScheme::automatic;
  LinearModel model = LinearModel::affine;
  LinearSearch search = LinearSearch::automatic;
  int levels = 4;               ///< of about 8, 4, 2 and 1 mm for a head; levels finer than the images are left out
  std::vector<int> iterations;  ///< at most so many, one value or one per level, coarse to fine; empty: 40, 30, 15, 6
  double smallest_overlap = 0.05;                         ///< of the fixed voxels; less is a failure
  Eigen::Affine3d initial = Eigen::Affine3d::Identity();  ///< world transform, fixed point to moving point (mm, LPS)

  /// Throws InvalidArgument with the field and its mend.
  void validate() const;
  int iterations_of_level(int level) const;
};

struct LinearResult {
  Eigen::Affine3d affine = Eigen::Affine3d::Identity();  ///< world transform, fixed point to moving point
  Eigen::Vector3d center = Eigen::Vector3d::Zero();      ///< the fixed image's centre of mass, about which the parts are
  LinearDecomposition parts;
  double overlap_before = 0, overlap_after = 0;  ///< share of the fixed voxels that land on moving ones
  double cost_before = 0, cost_after = 0;        ///< of the measure on the finest level
  std::vector<LevelRecord> levels;
  std::vector<std::string> warnings;
  double seconds = 0;
};

/// Registers. Fixed and moving may live on different grids. Throws InvalidArgument for unusable options or geometry,
/// RegistrationError for images without content and when the overlap found is below options.smallest_overlap (with the fraction),
/// DeviceError, and Cancelled when the observer asks.
LinearResult register_linear(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const LinearOptions& options = {},
                             const Masks& masks = {}, Observer* observer = nullptr);

}  // namespace freeflow
