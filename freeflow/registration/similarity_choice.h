// Which similarity measure a pipeline uses, chosen at run time, and the masks that say where it counts.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <freeflow/similarity/joint_histogram/joint_histogram.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

enum class SimilarityKind { nmi, ssd };
std::optional<SimilarityKind> parse_similarity(std::string_view name);

struct SimilarityChoice {
  SimilarityKind kind = SimilarityKind::nmi;
  int bins = 64;
  HistogramScheme histogram_scheme = HistogramScheme::automatic;
};
std::unique_ptr<SimilarityMeasure> make_similarity(const SimilarityChoice& choice);

struct Masks {
  const Volume<float>* fixed = nullptr;   ///< on the fixed image's grid; voxels above 0.5 count
  const Volume<float>* moving = nullptr;  ///< on the moving image's grid
};

}  // namespace freeflow
