#include <freeflow/registration/linear/candidate_search.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace freeflow {

double angle_between(const Eigen::Affine3d& a, const Eigen::Affine3d& b) {
  return Eigen::AngleAxisd(Eigen::Matrix3d(a.linear() * b.linear().inverse())).angle() * 180 /
         EIGEN_PI;
}

bool near(const Eigen::Affine3d& a, const Eigen::Affine3d& b, const Eigen::Vector3d& center,
          double degrees, double near_mm) {
  return angle_between(a, b) < degrees && (a * center - b * center).norm() < near_mm;
}

std::vector<LinearCandidate> distinct(const std::vector<LinearCandidate>& candidates,
                                      const Eigen::Vector3d& center, double degrees, double near_mm,
                                      std::size_t most) {
  std::vector<std::pair<double, std::size_t>>
      order;  // not the candidates themselves: a fine grid has thousands, of 136 bytes each
  order.reserve(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i)
    order.emplace_back(std::isfinite(candidates[i].cost) ? candidates[i].cost : double(INFINITY),
                       i);
  std::sort(order.begin(), order.end());
  std::vector<LinearCandidate> kept;
  for (const auto& [cost, index] : order) {
    if (kept.size() == most) break;
    const LinearCandidate& c = candidates[index];
    const bool seen = std::any_of(kept.begin(), kept.end(), [&](const LinearCandidate& k) {
      return near(c.world, k.world, center, degrees, near_mm);
    });
    if (!seen) kept.push_back(c);
  }
  return kept;
}

std::vector<LinearCandidate> best_and_unturned(const std::vector<LinearCandidate>& candidates,
                                               const Eigen::Affine3d& start,
                                               const ContentExtent& content, std::size_t most) {
  std::vector<LinearCandidate> all =
      distinct(candidates, content.center, 20, 0.25 * content.radius_mm, candidates.size());
  const auto unturned = std::find_if(all.begin(), all.end(), [&](const LinearCandidate& c) {
    return angle_between(c.world, start) < far_turned;
  });
  if (const auto at = std::size_t(unturned - all.begin()); at >= most && at < all.size())
    std::swap(all[most++], all[at]);
  all.resize(std::min(most, all.size()));
  return all;
}

CandidateSearch::CandidateSearch(Context& ctx, const LinearLevel& level,
                                 const std::vector<double>& weights, const ContentExtent& content,
                                 LevelRecord& record)
    : ctx_(ctx), level_(level), center_(content.center), record_(record), weights_(weights) {
  for (const ImagePair& pair : level.channels)
    scorers_.emplace_back(ctx, pair.fixed, pair.moving, batch);
}

double CandidateSearch::score(std::vector<LinearCandidate>& candidates, CandidateSampling sampling,
                              double smallest_overlap, CandidateRank rank) {
  const IndexMaps between(level_.fixed.geometry(), level_.moving.geometry());
  std::vector<PointMap> maps;
  maps.reserve(candidates.size());
  for (const LinearCandidate& c : candidates) maps.push_back(between.of(c.world));
  for (LinearCandidate& c : candidates) c.cost = 0;
  double largest = 0;
  for (std::size_t k = 0; k < scorers_.size(); ++k) {
    const std::vector<CandidateScore> scores =
        scorers_[k].score(ctx_, maps, sampling, smallest_overlap);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double information = std::max(0.0, -scores[i].cost - 1);
      candidates[i].cost -=
          weights_[k] * information * (rank == CandidateRank::shared ? scores[i].overlap : 1);
      if (k > 0) continue;
      candidates[i].overlap = scores[i].overlap;
      largest = std::max(largest, scores[i].overlap);
    }
  }
  record_.evaluations += int(candidates.size());
  return largest;
}

std::vector<LinearCandidate> CandidateSearch::neighbours(const LinearCandidate& candidate,
                                                         const PatternStep& step) const {
  const Eigen::Translation3d to(candidate.world * center_);
  const auto about = [&](const Eigen::Affine3d& change) {
    return LinearCandidate{to * change * to.inverse() * candidate.world};
  };
  std::vector<LinearCandidate> result;
  for (const double sign : {-1.0, 1.0}) {
    for (int axis = 0; axis < 3; ++axis) {
      const Eigen::Vector3d unit = Eigen::Vector3d::Unit(axis);
      if (step.mm > 0)
        result.push_back(about(Eigen::Affine3d(Eigen::Translation3d(sign * step.mm * unit))));
      if (step.degrees > 0)
        result.push_back(
            about(Eigen::Affine3d(Eigen::AngleAxisd(sign * step.degrees * EIGEN_PI / 180, unit))));
    }
    if (step.scale > 0)
      result.push_back(about(Eigen::Affine3d(Eigen::Scaling(std::pow(1 + step.scale, sign)))));
  }
  return result;
}

void CandidateSearch::improve(std::vector<LinearCandidate>& candidates, const PatternStep& step,
                              CandidateSampling sampling, double smallest_overlap,
                              CandidateRank rank) {
  std::vector<LinearCandidate> tried;
  for (const LinearCandidate& c : candidates) {
    const std::vector<LinearCandidate> own = neighbours(c, step);
    tried.insert(tried.end(), own.begin(), own.end());
  }
  score(tried, sampling, smallest_overlap, rank);
  const std::size_t each = candidates.empty() ? 1 : tried.size() / candidates.size();
  for (std::size_t i = 0; i < tried.size(); ++i)
    if (LinearCandidate& own = candidates[i / each]; tried[i].cost < own.cost) own = tried[i];
}

}  // namespace freeflow
