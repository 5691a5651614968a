// Private: tools of the coarse searches: candidates scored in batches on one level, by the
// normalised mutual information of a small histogram whatever the measure of the refinement, and
// moved by patterns of steps.
#pragma once

#include <vector>

#include <freeflow/registration/linear/linear_levels.h>
#include <freeflow/registration/linear/overlap_guard.h>
#include <freeflow/registration/observer.h>
#include <freeflow/similarity/candidate_scores.h>

namespace freeflow {

struct LinearCandidate {
  Eigen::Affine3d world = Eigen::Affine3d::Identity();
  double cost = 0;
  double overlap = 0;         ///< where a CandidateSearch scored it
  bool by_structure = false;  ///< local correlation led it where the measure went astray
  double least_overlap = 0;   ///< of its descent, where it is allowed less than the guard does
};

/// What a search asks for.
enum class CandidateRank {
  information,  ///< NMI - 1: how well the part fits that overlaps. Images of parts may overlap
                ///< little
  shared        ///< that times the overlap: a wrong pose may fit well in a small part
};

constexpr double far_turned = 45;  ///< degrees from the start: a header's pose is seldom wrong

/// Angle between the rotations of two transforms, degrees; nearly so where they scale or shear
/// differently.
double angle_between(const Eigen::Affine3d& a, const Eigen::Affine3d& b);

/// Whether they lie both within `degrees` and within near_mm (of where `center` goes).
bool near(const Eigen::Affine3d& a, const Eigen::Affine3d& b, const Eigen::Vector3d& center,
          double degrees, double near_mm);

/// Sorted by cost, without those that are near a better one.
std::vector<LinearCandidate> distinct(const std::vector<LinearCandidate>& candidates,
                                      const Eigen::Vector3d& center, double degrees, double near_mm,
                                      std::size_t most);

/// The best `most` of those that lie apart as after a search of all rotations. Where all of these
/// are turned far, also the best that is not: on coarse voxels heads of other proportions fit as
/// well upside down.
std::vector<LinearCandidate> best_and_unturned(const std::vector<LinearCandidate>& candidates,
                                               const Eigen::Affine3d& start,
                                               const ContentExtent& content, std::size_t most);

/// Steps to the neighbours of a candidate, each in both directions; 0: none.
struct PatternStep {
  double mm = 0, degrees = 0;
  double scale = 0;  ///< factors 1 + scale and 1 / (1 + scale)
};

class CandidateSearch {
 public:
  /// weights: of the channels, whose scores are added up.
  CandidateSearch(Context& ctx, const LinearLevel& level, const std::vector<double>& weights,
                  const ContentExtent& content, LevelRecord& record);

  /// Fills in overlaps, of the first channel, and costs, -1 to 0, 0 where the overlap is below the
  /// smallest. Returns the largest overlap.
  double score(std::vector<LinearCandidate>& candidates, CandidateSampling sampling,
               double smallest_overlap, CandidateRank rank = CandidateRank::information);
  /// All neighbours of a candidate about the object's centre.
  std::vector<LinearCandidate> neighbours(const LinearCandidate& candidate,
                                          const PatternStep& step) const;
  /// Scores all candidates' neighbours in one go; each candidate becomes the best of its own.
  void improve(std::vector<LinearCandidate>& candidates, const PatternStep& step,
               CandidateSampling sampling, double smallest_overlap,
               CandidateRank rank = CandidateRank::information);

 private:
  static constexpr int batch = 640;
  Context& ctx_;
  const LinearLevel& level_;
  Eigen::Vector3d center_;
  LevelRecord& record_;
  const std::vector<double>& weights_;
  std::vector<CandidateNmi> scorers_;
};

}  // namespace freeflow
