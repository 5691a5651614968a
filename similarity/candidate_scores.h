// Scores many linear maps of one pair of images in one launch, for the searches of linear
// registration.
#pragma once

#include <vector>

#include <freeflow/similarity/intensity_range.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

struct CandidateScore {
  double cost = 0;     ///< lower is better; 0 where the overlap is too small to say
  double overlap = 0;  ///< share of the valid fixed voxels that fall on valid moving ones
};

enum class CandidateSampling { nearest, linear };

/// What one row and one column of a candidate's histogram add: sums of c log c over the row's bins,
/// of the row and of the column; its voxels.
struct CandidateTerms {
  double joint, fixed, moving, mass;
};

/// Normalised mutual information (mutual_information.h) of plain counts in a small histogram. Every
/// candidate has a histogram of its own; on the CPU the threads share the candidates out, on a GPU
/// a block or several count each.
class CandidateNmi {
 public:
  static constexpr int bins = 32;

  /// Keeps copies of the two images in bins, over their robust ranges. Waits.
  CandidateNmi(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving,
               int max_candidates);

  /// maps: voxel indices to voxel indices (index_map), any number; candidates whose overlap is
  /// below smallest_overlap get cost 0. Waits once per max_candidates of them.
  std::vector<CandidateScore> score(Context& ctx, const std::vector<PointMap>& maps,
                                    CandidateSampling sampling, double smallest_overlap);

 private:
  int max_candidates_;
  double fixed_count_ = 0;
  Volume<float> moving_in_bins_;
  Volume<std::uint16_t> fixed_bin_;
  Buffer<PointMap> maps_;
  Buffer<std::uint32_t> histograms_;
  Buffer<CandidateTerms> terms_;
  Buffer<double> results_;
};

}  // namespace freeflow
