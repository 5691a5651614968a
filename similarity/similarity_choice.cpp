#include <freeflow/similarity/similarity_choice.h>

#include <freeflow/similarity/correlation_ratio.h>
#include <freeflow/similarity/lncc.h>
#include <freeflow/similarity/mind.h>
#include <freeflow/similarity/mutual_information.h>
#include <freeflow/similarity/ssd.h>

namespace freeflow {

std::optional<SimilarityKind> parse_similarity(std::string_view name) {
  if (name == "nmi") return SimilarityKind::nmi;
  if (name == "mi") return SimilarityKind::mi;
  if (name == "cr") return SimilarityKind::cr;
  if (name == "ssd") return SimilarityKind::ssd;
  if (name == "lncc") return SimilarityKind::lncc;
  if (name == "mind") return SimilarityKind::mind;
  return std::nullopt;
}

std::optional<Estimator> parse_estimator(std::string_view name) {
  if (name == "hard") return Estimator::hard;
  if (name == "parzen") return Estimator::parzen;
  if (name == "parzen_both") return Estimator::parzen_both;
  if (name == "partial_volume") return Estimator::partial_volume;
  return std::nullopt;
}

void SimilarityChoice::validate() const {
  if (factory) return;
  require(bins >= 16 && bins <= 256, "SimilarityChoice::bins must lie between 16 and 256");
  require(sampling == Interpolation::linear || kind == SimilarityKind::nmi ||
              kind == SimilarityKind::mi,
          "SimilarityChoice::sampling: cubic sampling is of nmi and mi; the other measures sample "
          "linear");
  make_similarity(*this);
}

std::unique_ptr<SimilarityMeasure> make_similarity(const SimilarityChoice& c) {
  if (c.factory) return c.factory();
  const auto information = [&](Information measure) {
    return std::make_unique<MutualInformation>(MutualInformationOptions{
        measure, c.bins, c.bins, c.estimator, c.histogram_scheme, c.sampling});
  };
  switch (c.kind) {
    case SimilarityKind::nmi: return information(Information::nmi);
    case SimilarityKind::mi: return information(Information::mi);
    case SimilarityKind::cr:
      return std::make_unique<CorrelationRatio>(
          CorrelationRatioOptions{c.bins, c.ratio_scheme, c.ratio_direction, c.border_mm});
    case SimilarityKind::ssd: return std::make_unique<Ssd>();
    case SimilarityKind::lncc:
      return std::make_unique<Lncc>(LnccOptions{LnccWindow::box, c.lncc_radius});
    case SimilarityKind::mind:
      return std::make_unique<Mind>(MindOptions{c.mind_radius, c.mind_dilation});
  }
  throw InvalidArgument("unknown similarity");
}

}  // namespace freeflow
