// Which similarity measure a pipeline uses, chosen at run time: one of the library's, or one of the
// caller's own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <freeflow/similarity/joint_histogram/joint_histogram.h>
#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

enum class SimilarityKind {
  nmi,       ///< normalised mutual information: any modalities
  mi,        ///< mutual information: any modalities
  cr,        ///< correlation ratio: modalities where one intensity follows from the other
  ssd,       ///< sum of squared differences: one modality and scale
  lncc,      ///< local correlation: one modality, whatever its shading
  mind,      ///< self-similarity context: any modalities, whatever their shading
  automatic  ///< lncc + 0.3 nmi, and + 4 mind on all levels but the finest: images of which
             ///< nothing is known
};
std::optional<SimilarityKind> parse_similarity(std::string_view name);
std::optional<Estimator> parse_estimator(std::string_view name);

/// A measure of the library's and its weight in a sum.
struct SimilarityTerm {
  SimilarityKind kind = SimilarityKind::lncc;
  double weight = 1;
  bool operator==(const SimilarityTerm&) const = default;
};
/// "lncc", "lncc+0.3nmi", "lncc+2*mind"; nothing where a word is unknown or a weight is no positive
/// number.
std::optional<std::vector<SimilarityTerm>> parse_similarity_sum(std::string_view text);

/// Weights of so many channels, in proportion, as shares that sum to 1; none: all the same. Throws
/// InvalidArgument where there is another number of them.
std::vector<double> channel_shares(const std::vector<double>& weights, std::size_t channels);

/// Makes a measure; pipelines make one per direction and level.
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
  double border_mm = 0;                  ///< cr: width of the border weighting, 0 for none
  int lncc_radius = 2;                   ///< lncc: voxels of the level, 1 to 64
  int mind_radius = 1;                   ///< mind: of its patches, voxels of the level, 1 to 16
  int mind_dilation = 2;                 ///< mind: to the neighbours, voxels of the level, 1 to 16
  std::vector<SimilarityTerm> sum = {};  ///< not empty: the weighted sum of these, in place of kind
  /// A measure of one's own; then no other field counts but channel_weights.
  SimilarityFactory factory = {};
  /// Of images of several channels (registration/levels/prepared_image.h): one for each, in
  /// proportion; empty: all count the same.
  std::vector<double> channel_weights = {};

  /// Whether it is that measure of the library's, and no other.
  bool is(SimilarityKind of) const { return !factory && sum.empty() && kind == of; }
  /// The measures of the library's that it stands for, on a pyramid's finest level or on one above
  /// it; none for one of the caller's.
  std::vector<SimilarityTerm> terms(bool finest = true) const;
  /// What a pyramid's level compares by, so many levels above the finest.
  SimilarityChoice of_level(int above_finest) const;
  /// channel_weights as channel_shares() has them.
  std::vector<double> weights_of(std::size_t channels) const {
    return channel_shares(channel_weights, channels);
  }

  /// Throws InvalidArgument with the field and its mend.
  void validate() const;
};

/// Throws InvalidArgument when a field is out of range, or a scheme cannot take the estimator.
std::unique_ptr<SimilarityMeasure> make_similarity(const SimilarityChoice& choice);

/// What a linear stage before a nonrigid one compares by: the same, or nmi in place of measures
/// that look at small windows, which see little of a large motion, and of sums with them.
SimilarityChoice linear_choice(const SimilarityChoice& nonrigid);

}  // namespace freeflow
