#include <freeflow/registration/similarity_choice.h>

#include <freeflow/similarity/mutual_information.h>
#include <freeflow/similarity/ssd.h>

namespace freeflow {

std::optional<SimilarityKind> parse_similarity(std::string_view name) {
  if (name == "nmi") return SimilarityKind::nmi;
  if (name == "ssd") return SimilarityKind::ssd;
  return std::nullopt;
}

std::unique_ptr<SimilarityMeasure> make_similarity(const SimilarityChoice& choice) {
  if (choice.kind == SimilarityKind::ssd) return std::make_unique<Ssd>();
  return std::make_unique<MutualInformation>(
      MutualInformationOptions{Information::nmi, choice.bins, choice.bins, Estimator::parzen, choice.histogram_scheme});
}

}  // namespace freeflow
