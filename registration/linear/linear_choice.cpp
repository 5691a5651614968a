// Of a linear registration's candidates: those that go on to the next level, and the one that is
// the result.
#include <cmath>

#include <freeflow/registration/linear/linear_run.h>

namespace freeflow {

std::vector<LinearCandidate> LinearRun::apart(
    const std::vector<LinearCandidate>& candidates) const {
  return distinct(candidates, levels_.fixed_content().center, near_degrees(), near_mm(),
                  candidates.size());
}

SharedStructure& LinearRun::structure_on(int l) {
  std::optional<SharedStructure>& structure = structures_[std::min(l, 1)];
  if (l > 0) structures_[0].reset();
  if (!structure) structure.emplace(ctx_, levels_[std::min(l, 1)], ranges_, weights_);
  return *structure;
}

std::size_t LinearRun::most_alike(const std::vector<LinearCandidate>& candidates, int l,
                                  LevelRecord& record) {
  SharedStructure& structure = structure_on(l);
  std::size_t best = 0;
  double most = -1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!std::isfinite(candidates[i].cost)) continue;
    const double share = structure.share(candidates[i].world);
    ++record.evaluations;
    if (share <= most) continue;
    best = i;
    most = share;
  }
  return best;
}

LinearCandidate LinearRun::chosen(const std::vector<LinearCandidate>& candidates,
                                  LevelRecord& record) {
  const std::vector<LinearCandidate> all = apart(candidates);
  if (all.size() == 1 || options_.search != LinearSearch::automatic) return all[0];
  return all[most_alike(all, levels_.count() - 1, record)];
}

std::vector<LinearCandidate> LinearRun::those_that_go_on(
    const std::vector<LinearCandidate>& candidates, const Eigen::Affine3d& start, int l,
    std::size_t least, LevelRecord& record) {
  const bool automatic = options_.search == LinearSearch::automatic;
  std::vector<LinearCandidate> all = apart(candidates);
  if (all.size() == 1) return all;
  std::vector<bool> goes_on(all.size());
  double enough = -INFINITY;
  std::size_t better = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    goes_on[i] = l == 0;
    if (all[i].least_overlap > 0) continue;
    if (better == 0) enough = all[i].cost + cost_tolerance();
    goes_on[i] = better++ < least || (automatic && all[i].cost < enough);
  }
  if (automatic) {
    goes_on[most_alike(all, l, record)] = true;
    std::vector<LinearCandidate> unturned;
    std::vector<std::size_t> place;
    bool any = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].least_overlap > 0 || angle_between(all[i].world, start) >= far_turned) continue;
      unturned.push_back(all[i]);
      place.push_back(i);
      any = any || goes_on[i];
    }
    if (!any && !unturned.empty()) goes_on[place[most_alike(unturned, l, record)]] = true;
  }
  std::vector<LinearCandidate> kept;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (goes_on[i]) kept.push_back(all[i]);
  return kept;
}

}  // namespace freeflow
