// Which similarity measure a pipeline uses, chosen at run time, and the masks that say where it counts.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <freeflow/similarity/joint_histogram/joint_histogram.h>
#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

enum class SimilarityKind { nmi, mi, cr, ssd, lncc };
/// The words of the command line, in the order of the enum.
inline constexpr const char* similarity_names = "nmi|mi|cr|ssd|lncc";
std::optional<SimilarityKind> parse_similarity(std::string_view name);
/// parzen, partial_volume or hard.
std::optional<Estimator> parse_estimator(std::string_view name);

/// What the options of every pipeline begin with.
struct SimilarityOptions {
  SimilarityKind similarity = SimilarityKind::nmi;
  int bins = 64;                                                  ///< nmi, mi, cr: 16 to 256
  Estimator estimator = Estimator::parzen;                        ///< nmi, mi
  HistogramScheme histogram_scheme = HistogramScheme::automatic;  ///< nmi, mi
  RatioScheme ratio_scheme = RatioScheme::automatic;              ///< cr
  RatioDirection ratio_direction = RatioDirection::moving_given_fixed;
  double border_mm = 0;  ///< cr: width of the border weighting, 0 for none
  int lncc_radius = 2;   ///< lncc: voxels of the level

  /// Throws InvalidArgument with the field and its mend.
  void validate_similarity() const;
};
std::unique_ptr<SimilarityMeasure> make_similarity(const SimilarityOptions& options);

struct Masks {
  const Volume<float>* fixed = nullptr;   ///< on the fixed image's grid; voxels above 0.5 count
  const Volume<float>* moving = nullptr;  ///< on the moving image's grid
};

}  // namespace freeflow
