#include <freeflow/registration/linear/rotation_search.h>

#include <algorithm>
#include <cmath>

#include <freeflow/registration/linear/linear_parameters.h>

namespace freeflow {

std::vector<Eigen::Matrix3d> spread_rotations(int count) {
  constexpr double phi = 1.4142135623730951, psi = 1.533751168755204288118041;
  std::vector<Eigen::Matrix3d> rotations;
  for (int i = 0; i < count; ++i) {
    const double s = i + 0.5, t = s / count, inner = std::sqrt(t), outer = std::sqrt(1 - t);
    const double alpha = 2 * EIGEN_PI * s / phi, beta = 2 * EIGEN_PI * s / psi;
    const Eigen::Quaterniond q(outer * std::cos(beta), inner * std::sin(alpha),
                               inner * std::cos(alpha), outer * std::sin(beta));
    rotations.push_back(q.normalized().toRotationMatrix());
  }
  return rotations;
}

namespace {

/// Transforms about the centres of mass, with the scales and skews of the start.
class AboutCenters {
 public:
  AboutCenters(const LinearLevels& levels, const Eigen::Affine3d& start)
      : from_(levels.fixed_content().center), to_(levels.moving_content().center),
        start_(start.linear()), shape_(decompose(start, from_).rotation.transpose() * start_) {}

  LinearCandidate unturned() const { return with_linear(start_); }
  LinearCandidate turned(const Eigen::Matrix3d& rotation) const {
    return with_linear(rotation * shape_);
  }

 private:
  LinearCandidate with_linear(const Eigen::Matrix3d& linear) const {
    Eigen::Affine3d world = Eigen::Affine3d::Identity();
    world.linear() = linear;
    world.translation() = to_ - linear * from_;
    return {world};
  }

  Eigen::Vector3d from_, to_;
  Eigen::Matrix3d start_, shape_;
};

/// Scores candidates, and from these learns which overlap is possible; takes back the scores of
/// those that fall short of it.
void score_first(CandidateSearch& search, OverlapGuard& guard,
                 std::vector<LinearCandidate>& candidates, CandidateSampling sampling) {
  guard.allow_for(search.score(candidates, sampling, 0));
  for (LinearCandidate& c : candidates)
    if (!guard.accepts(c.world)) c.cost = 0;
}

void stop_if_asked(Observer& observer) {
  if (observer.stop_requested()) throw Cancelled{};
}

/// The unturned pose moved about: where one image shows a part of the object, their centres are of
/// different things.
std::vector<LinearCandidate> shifted(const LinearCandidate& unturned, double step_mm) {
  constexpr int reach = 2;
  std::vector<LinearCandidate> all;
  for (int z = -reach; z <= reach; ++z)
    for (int y = -reach; y <= reach; ++y)
      for (int x = -reach; x <= reach; ++x)
        all.push_back({Eigen::Translation3d(step_mm * Eigen::Vector3d(x, y, z)) * unturned.world});
  return all;
}

}  // namespace

std::vector<LinearCandidate> search_rotations(Context& ctx, const SearchSetting& setting,
                                              const Eigen::Affine3d& start, int wanted) {
  constexpr int grid = 600, beams = 12;
  const ContentExtent& content = setting.levels.fixed_content();
  const double radius = content.radius_mm;
  CandidateSearch search(ctx, setting.levels[0], setting.weights, content, setting.record);
  const AboutCenters about(setting.levels, start);
  std::vector<LinearCandidate> all{{start}, about.unturned()};
  for (const Eigen::Matrix3d& rotation : spread_rotations(grid))
    all.push_back(about.turned(rotation));
  score_first(search, setting.guard, all, CandidateSampling::nearest);
  const PatternStep steps[] = {{0.25 * radius, 18},
                               {0.25 * radius, 18},
                               {0.12 * radius, 10},
                               {0.12 * radius, 10},
                               {0.06 * radius, 5}};
  const double smallest = setting.guard.smallest();
  const auto improve = [&](std::vector<LinearCandidate>& beam, CandidateRank rank) {
    search.score(beam, CandidateSampling::linear, smallest, rank);  // as their neighbours are
    for (const PatternStep& step : steps) {
      stop_if_asked(setting.observer);
      search.improve(beam, step, CandidateSampling::linear, smallest, rank);
    }
  };
  std::vector<LinearCandidate> found;
  double most_shared = 0;
  for (const CandidateRank rank : {CandidateRank::information, CandidateRank::shared}) {
    if (rank == CandidateRank::shared)
      for (LinearCandidate& c : all) c.cost *= c.overlap;
    // The start and its rotation keep a beam of their own whatever they score.
    std::vector<LinearCandidate> beam = distinct(all, content.center, 15, 0.25 * radius, beams);
    beam.insert(beam.begin(), all.begin(), all.begin() + 2);
    improve(beam, rank);
    for (LinearCandidate& c : best_and_unturned(beam, start, content, std::size_t(wanted))) {
      if (rank == CandidateRank::shared) most_shared = std::min(most_shared, c.cost);
      c.cost = 0;  // of two ranks, which do not compare
      found.push_back(c);
    }
  }
  std::vector<LinearCandidate> moved = shifted(about.unturned(), 0.4 * radius);
  search.score(moved, CandidateSampling::nearest, smallest, CandidateRank::shared);
  moved = distinct(moved, content.center, 20, 0.25 * radius, std::size_t(wanted));
  improve(moved, CandidateRank::shared);
  moved = distinct(moved, content.center, 20, 0.25 * radius, 1);
  if (!moved.empty() && moved.front().cost < most_shared) found.push_back({moved.front().world});
  return distinct(found, content.center, 20, 0.25 * radius, found.size());
}

std::vector<LinearCandidate> search_flirt(Context& ctx, const SearchSetting& setting,
                                          const Eigen::Affine3d& start, bool rigid, int wanted) {
  constexpr int coarse_stride = 60, fine_stride = 18;
  const ContentExtent& content = setting.levels.fixed_content();
  const double radius = content.radius_mm;
  CandidateSearch search(ctx, setting.levels[0], setting.weights, content, setting.record);
  const AboutCenters about(setting.levels, start);
  const auto rotations = [](int stride) {
    std::vector<Eigen::Matrix3d> about_axis[3], result;
    for (int axis = 0; axis < 3; ++axis)
      for (int degrees = 0; degrees < 360; degrees += stride)
        about_axis[axis].push_back(
            Eigen::AngleAxisd(degrees * EIGEN_PI / 180, Eigen::Vector3d::Unit(axis))
                .toRotationMatrix());
    for (const Eigen::Matrix3d& z : about_axis[2])
      for (const Eigen::Matrix3d& y : about_axis[1])
        for (const Eigen::Matrix3d& x : about_axis[0]) result.push_back(z * y * x);
    return result;
  };
  std::vector<LinearCandidate> coarse;
  for (const Eigen::Matrix3d& rotation : rotations(coarse_stride))
    coarse.push_back(about.turned(rotation));
  score_first(search, setting.guard, coarse, CandidateSampling::nearest);
  const double scale = rigid ? 0 : 0.1;
  for (const PatternStep& step : {PatternStep{0.2 * radius, 0, scale},
                                  {0.1 * radius, 0, scale},
                                  {0.1 * radius, 0, 0.5 * scale}}) {
    stop_if_asked(setting.observer);
    search.improve(coarse, step, CandidateSampling::nearest, setting.guard.smallest());
  }
  std::vector<LinearCandidate> fine{{start}, about.unturned()};
  const int n = 360 / coarse_stride, m = 360 / fine_stride;
  const std::vector<Eigen::Matrix3d> fine_rotations = rotations(fine_stride),
                                     coarse_rotations = rotations(coarse_stride);
  fine.reserve(fine.size() + fine_rotations.size());
  const auto nearest = [&](int i) {
    return (i * fine_stride + coarse_stride / 2) / coarse_stride % n;
  };
  for (int z = 0, i = 0; z < m; ++z)
    for (int y = 0; y < m; ++y)
      for (int x = 0; x < m; ++x, ++i) {
        const int cell = (nearest(z) * n + nearest(y)) * n + nearest(x);
        const auto near = std::size_t(cell);
        const Eigen::Translation3d to(coarse[near].world * content.center);
        const Eigen::Matrix3d turn =
            fine_rotations[std::size_t(i)] * coarse_rotations[near].transpose();
        fine.push_back({to * Eigen::Affine3d(turn) * to.inverse() * coarse[near].world});
      }
  stop_if_asked(setting.observer);
  search.score(fine, CandidateSampling::nearest, setting.guard.smallest());
  return distinct(fine, content.center, fine_stride, 0.25 * radius, std::size_t(wanted));
}

std::vector<LinearCandidate> perturb_flirt(Context& ctx, const SearchSetting& setting, int level,
                                           const std::vector<LinearCandidate>& candidates,
                                           bool rigid) {
  const ContentExtent& content = setting.levels.fixed_content();
  CandidateSearch search(ctx, setting.levels[level], setting.weights, content, setting.record);
  std::vector<LinearCandidate> all = candidates;
  for (const LinearCandidate& c : candidates)
    for (const PatternStep& step : {PatternStep{0, 9, 0}, {0, 0, 0.1}, {0, 0, 0.2}})
      if (!rigid || step.scale == 0) {
        const std::vector<LinearCandidate> own = search.neighbours(c, step);
        all.insert(all.end(), own.begin(), own.end());
      }
  search.score(all, CandidateSampling::nearest, setting.guard.smallest());
  return distinct(all, content.center, 1, 0, candidates.size());
}

}  // namespace freeflow
