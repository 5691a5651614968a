#include <freeflow/registration/similarity_choice.h>

#include <freeflow/core/error.h>
#include <freeflow/similarity/correlation_ratio.h>
#include <freeflow/similarity/lncc.h>
#include <freeflow/similarity/mutual_information.h>
#include <freeflow/similarity/ssd.h>

namespace freeflow {

std::optional<SimilarityKind> parse_similarity(std::string_view name) {
  if (name == "nmi") return SimilarityKind::nmi;
  if (name == "mi") return SimilarityKind::mi;
  if (name == "cr") return SimilarityKind::cr;
  if (name == "ssd") return SimilarityKind::ssd;
  if (name == "lncc") return SimilarityKind::lncc;
  return std::nullopt;
}

std::optional<Estimator> parse_estimator(std::string_view name) {
  if (name == "parzen") return Estimator::parzen;
  if (name == "partial_volume") return Estimator::partial_volume;
  if (name == "hard") return Estimator::hard;
  return std::nullopt;
}

void SimilarityOptions::validate_similarity() const {
  require(bins >= 16 && bins <= 256, "the number of bins must lie between 16 and 256");
  require(border_mm >= 0 && border_mm <= 1000, "the border weighting's width must lie between 0 and 1000 mm");
  require(lncc_radius >= 1 && lncc_radius <= 64, "the radius of the local correlation must lie between 1 and 64 voxels");
}

std::unique_ptr<SimilarityMeasure> make_similarity(const SimilarityOptions& o) {
  switch (o.similarity) {
    case SimilarityKind::ssd: return std::make_unique<Ssd>();
    case SimilarityKind::lncc: {
      LnccOptions lncc;
      lncc.radius = o.lncc_radius;
      return std::make_unique<Lncc>(lncc);
    }
    case SimilarityKind::cr:
      return std::make_unique<CorrelationRatio>(CorrelationRatioOptions{o.bins, o.ratio_scheme, o.ratio_direction, o.border_mm});
    case SimilarityKind::nmi:
    case SimilarityKind::mi: break;
  }
  const Information information = o.similarity == SimilarityKind::mi ? Information::mi : Information::nmi;
  return std::make_unique<MutualInformation>(MutualInformationOptions{information, o.bins, o.bins, o.estimator, o.histogram_scheme});
}

}  // namespace freeflow
