#include <freeflow/registration/rotation_search.h>

#include <algorithm>
#include <cmath>

#include <freeflow/registration/linear_parameters.h>
#include <freeflow/similarity/candidate_scores.h>

namespace freeflow {

std::vector<Eigen::Matrix3d> spread_rotations(int count) {
  constexpr double phi = 1.4142135623730951, psi = 1.533751168755204288118041;
  std::vector<Eigen::Matrix3d> rotations;
  for (int i = 0; i < count; ++i) {
    const double s = i + 0.5, t = s / count, r = std::sqrt(t), big_r = std::sqrt(1 - t);
    const double alpha = 2 * EIGEN_PI * s / phi, beta = 2 * EIGEN_PI * s / psi;
    rotations.push_back(
        Eigen::Quaterniond(big_r * std::cos(beta), r * std::sin(alpha), r * std::cos(alpha), big_r * std::sin(beta)).normalized().toRotationMatrix());
  }
  return rotations;
}

double angle_between(const Eigen::Affine3d& a, const Eigen::Affine3d& b) {
  return Eigen::AngleAxisd(Eigen::Matrix3d(a.linear() * b.linear().inverse())).angle() * 180 / EIGEN_PI;
}

namespace {

constexpr int grid_rotations = 600, beams = 24, batch = 640;

class Search {
 public:
  Search(Context& ctx, const LinearLevels& levels, LevelRecord& record)
      : ctx_(ctx), levels_(levels), record_(record), scorer_(ctx, levels[0].fixed, levels[0].moving, batch) {}

  /// Returns the largest overlap among them.
  double score(std::vector<LinearCandidate>& candidates, double smallest_overlap) {
    std::vector<PointMap> maps;
    for (const LinearCandidate& c : candidates) maps.push_back(index_map(levels_[0].fixed.geometry(), c.world, levels_[0].moving.geometry()));
    const std::vector<CandidateScore> scores = scorer_.score(ctx_, maps, CandidateSampling::linear, smallest_overlap);
    double largest = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      candidates[i].cost = scores[i].cost;
      largest = std::max(largest, scores[i].overlap);
    }
    record_.evaluations += int(scores.size());
    return largest;
  }

  /// Sorted by cost, without those near a better one.
  std::vector<LinearCandidate> distinct(std::vector<LinearCandidate> candidates, double degrees, std::size_t most) const {
    std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
    const Eigen::Vector3d center = levels_.fixed_content().center;
    const double near = 0.25 * levels_.fixed_content().radius_mm;
    std::vector<LinearCandidate> kept;
    for (const LinearCandidate& c : candidates) {
      const bool seen = std::any_of(kept.begin(), kept.end(), [&](const LinearCandidate& k) {
        return angle_between(c.world, k.world) < degrees && (c.world * center - k.world * center).norm() < near;
      });
      if (!seen && kept.size() < most) kept.push_back(c);
    }
    return kept;
  }

  /// Every beam and its twelve neighbours; each beam becomes the best of its own.
  void pattern_step(std::vector<LinearCandidate>& beam, double step_mm, double degrees, double smallest_overlap) {
    const Eigen::Vector3d center = levels_.fixed_content().center;
    std::vector<LinearCandidate> tried;
    for (const LinearCandidate& b : beam)
      for (int axis = 0; axis < 3; ++axis)
        for (const double sign : {-1.0, 1.0}) {
          LinearCandidate moved = b, turned = b;
          moved.world.pretranslate(Eigen::Vector3d(sign * step_mm * Eigen::Vector3d::Unit(axis)));
          const Eigen::Vector3d pivot = b.world * center;
          const Eigen::AngleAxisd turn(sign * degrees * EIGEN_PI / 180, Eigen::Vector3d::Unit(axis));
          turned.world = Eigen::Translation3d(pivot) * turn * Eigen::Translation3d(-pivot) * b.world;
          tried.push_back(moved);
          tried.push_back(turned);
        }
    score(tried, smallest_overlap);
    for (std::size_t i = 0; i < tried.size(); ++i)
      if (LinearCandidate& own = beam[i / 12]; tried[i].cost < own.cost) own = tried[i];
  }

 private:
  Context& ctx_;
  const LinearLevels& levels_;
  LevelRecord& record_;
  CandidateNmi scorer_;
};

}  // namespace

std::vector<LinearCandidate> search_rotations(Context& ctx, const LinearLevels& levels, const Eigen::Affine3d& start, int wanted,
                                              OverlapGuard& guard, LevelRecord& record, Observer& observer) {
  Search search(ctx, levels, record);
  const Eigen::Vector3d from = levels.fixed_content().center, to = levels.moving_content().center;
  const auto about_centers = [&](const Eigen::Matrix3d& linear) {
    Eigen::Affine3d world = Eigen::Affine3d::Identity();
    world.linear() = linear;
    world.translation() = to - linear * from;
    return LinearCandidate{world, 0};
  };
  const LinearDecomposition parts = decompose(start, from);
  const Eigen::Matrix3d shape = parts.rotation.transpose() * start.linear();
  std::vector<LinearCandidate> all{{start, 0}, about_centers(start.linear())};
  for (const Eigen::Matrix3d& rotation : spread_rotations(grid_rotations)) all.push_back(about_centers(rotation * shape));
  guard.allow_for(search.score(all, 0));
  for (LinearCandidate& c : all)
    if (!guard.accepts(c.world)) c.cost = 0;
  // The start keeps a beam of its own whatever it scores.
  std::vector<LinearCandidate> beam = search.distinct(all, 15, beams);
  beam.insert(beam.begin(), all.begin(), all.begin() + 2);
  const double radius = levels.fixed_content().radius_mm;
  for (const auto& [share, degrees] : {std::pair{0.25, 18.0}, {0.25, 18.0}, {0.12, 10.0}, {0.12, 10.0}, {0.06, 5.0}}) {
    if (observer.stop_requested()) throw Cancelled{};
    search.pattern_step(beam, share * radius, degrees, guard.smallest());
  }
  return search.distinct(beam, 20, std::size_t(wanted));
}

}  // namespace freeflow
