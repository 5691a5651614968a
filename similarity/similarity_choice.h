// Which similarity measure a pipeline uses, chosen at run time: one of the library's, or one of the
// caller's own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <freeflow/similarity/joint_histogram/joint_histogram.h>
#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

enum class SimilarityKind {
  nmi,   ///< normalised mutual information: any modalities
  mi,    ///< mutual information: any modalities
  cr,    ///< correlation ratio: modalities where one intensity follows from the other
  ssd,   ///< sum of squared differences: one modality and scale
  lncc,  ///< local correlation: one modality, whatever its shading
  mind   ///< self-similarity context: any modalities, whatever their shading
};
std::optional<SimilarityKind> parse_similarity(std::string_view name);
std::optional<Estimator> parse_estimator(std::string_view name);

/// Makes a measure; pipelines make one per direction and registration.
using SimilarityFactory = std::function<std::unique_ptr<SimilarityMeasure>()>;

struct SimilarityChoice {
  SimilarityKind kind = SimilarityKind::nmi;
  int bins = 64;  ///< nmi, mi: per axis; cr: of the fixed image. 16 to 256
  Estimator estimator = Estimator::parzen;  ///< nmi, mi
  HistogramScheme histogram_scheme = HistogramScheme::automatic;
  /// nmi, mi: of the moving image, linear or cubic
  Interpolation sampling = Interpolation::linear;
  RatioScheme ratio_scheme = RatioScheme::automatic;
  /// cr: which image explains the other
  RatioDirection ratio_direction = RatioDirection::moving_given_fixed;
  double border_mm = 0;            ///< cr: width of the border weighting, 0 for none
  int lncc_radius = 2;             ///< lncc: voxels of the level, 1 to 64
  int mind_radius = 1;             ///< mind: of its patches, voxels of the level, 1 to 16
  int mind_dilation = 2;           ///< mind: to the neighbours, voxels of the level, 1 to 16
  SimilarityFactory factory = {};  ///< a measure of one's own; then no other field counts

  /// Whether it is that measure of the library's.
  bool is(SimilarityKind of) const { return !factory && kind == of; }

  /// Throws InvalidArgument with the field and its mend.
  void validate() const;
};

/// Throws InvalidArgument when a field is out of range, or a scheme cannot take the estimator.
std::unique_ptr<SimilarityMeasure> make_similarity(const SimilarityChoice& choice);

}  // namespace freeflow
