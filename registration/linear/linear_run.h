// Private: one linear registration, coarse to fine: candidates, their descents, the choice among
// them, the blocks.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include <freeflow/registration/linear/candidate_search.h>
#include <freeflow/registration/linear/linear_cost.h>
#include <freeflow/registration/linear/linear_levels.h>
#include <freeflow/registration/linear/linear_options.h>
#include <freeflow/registration/linear/linear_result.h>
#include <freeflow/registration/linear/overlap_guard.h>
#include <freeflow/registration/linear/shared_structure.h>
#include <freeflow/registration/observer.h>

namespace freeflow {

/// Runs one registration: what its levels share. Keeps references to all it is given.
class LinearRun {
 public:
  LinearRun(Context& ctx, PreparedImage& fixed, PreparedImage& moving, const LinearOptions& options,
            Observer& observer);

  /// from: options.initial, or a better start.
  LinearResult run(const Eigen::Affine3d& from);

  /// Whether to search from the moving image to the fixed one, too: where a mask leaves a small
  /// part of the moving one, that part can be stretched over what surrounds it in the fixed one,
  /// for nothing there has a say. A model of scales along the fixed image's axes has no inverse.
  bool goes_back() const;
  /// Share of the fixed image that what was measured of the moving one could cover: a slab or an
  /// organ covers a head in part.
  double largest_overlap() const { return std::min(1.0, guard_.measured_ratio()); }
  /// How much of the fixed image's structure the moving one shares.
  double shared(const Eigen::Affine3d& world);
  /// What was found, with this transform in its place; after run().
  LinearResult kept(LinearResult found, const Eigen::Affine3d& world);
  /// What was found from the moving image to the fixed one, as this run would return it.
  LinearResult inverted(LinearResult back);

 private:
  double overlap(const Eigen::Affine3d& world);

  double smallest_overlap(const LinearCandidate& c) const {
    return c.least_overlap > 0 ? c.least_overlap : guard_.smallest();
  }

  Eigen::Affine3d as_model(const Eigen::Affine3d& world) const;

  bool rigid() const { return options_.model == LinearModel::rigid; }
  /// What the searches of all rotations find on the coarsest level, and FLIRT's perturbations on
  /// the second.
  void add_candidates(std::vector<LinearCandidate>& candidates, int l, const Eigen::Affine3d& start,
                      LevelRecord& record);

  /// Of the automatic search's first level: where what fits best is turned far, local correlation
  /// is followed from poses that are not turned, the start and the start about the centres. What
  /// shares a tenth more structure than any candidate takes the place of those near it.
  void add_unturned(std::vector<LinearCandidate>& candidates, const Eigen::Affine3d& start,
                    LinearCost& cost, LevelRecord& record);

  /// Descends from each candidate. The coarsest two levels, with few parameters, decide which go
  /// on; after the finest one is chosen.
  void refine(std::vector<LinearCandidate>& candidates, const Eigen::Affine3d& start,
              LinearCost& cost, int l, LevelRecord& record);

  /// Of a descent that only says which candidates go on.
  LinearModel coarse_model() const {
    return rigid() ? LinearModel::rigid : LinearModel::similarity;
  }
  static int coarse_iterations(const LevelRecord& record) {
    return std::min(record.max_iterations, 20);
  }

  /// Costs that lie so near are not told apart.
  double cost_tolerance() { return 0.01 * similarity_.measure().range(); }

  /// Transforms so near are not told apart, either.
  double near_degrees() const { return 8; }
  double near_mm() const { return 2 * levels_.spacing_mm(0); }
  /// What is not told apart counts once, the better of the two.
  std::vector<LinearCandidate> apart(const std::vector<LinearCandidate>& candidates) const;

  /// Of the images on level l or, as noise hides it on finer ones, on the second.
  SharedStructure& structure_on(int l);

  /// The one under which the images share most structure; the first where none has a cost.
  std::size_t most_alike(const std::vector<LinearCandidate>& candidates, int l,
                         LevelRecord& record);

  /// Of the finest level's. By cost where they lie together and where another search was asked for.
  LinearCandidate chosen(const std::vector<LinearCandidate>& candidates, LevelRecord& record);

  /// The best `least`; what overlaps less than the guard asks does not count there, for in a small
  /// part the measure looks better, but has the first level to itself. Of the automatic search also
  /// all that few parameters on coarse voxels do not tell from the best; the one that shares most
  /// structure; and where all of these are turned far, of the others the one that shares most.
  std::vector<LinearCandidate> those_that_go_on(const std::vector<LinearCandidate>& candidates,
                                                const Eigen::Affine3d& start, int l,
                                                std::size_t least, LevelRecord& record);

  /// Of the automatic search: a descent that loses a fifth of the structure which the images shared
  /// was led astray (a joint histogram by a shading); then local correlation leads, if it keeps
  /// more.
  void descend_together(LinearCandidate& candidate, LinearModel model, LinearCost& cost, int l,
                        int iterations, Eigen::MatrixXd& curvature, LevelRecord& record,
                        bool candidate_is_alone = true);

  /// A descent along local correlation instead of the measure. `aside` holds its record, as its
  /// costs do not compare; its evaluations count in `record`.
  void follow_structure(LinearCandidate& candidate, LinearModel model, int l, int iterations,
                        LevelRecord& aside, LevelRecord& record, bool candidate_is_alone);

  void descend(LinearCandidate& candidate, LinearModel model, LinearCost& cost, int l,
               int iterations, Eigen::MatrixXd& curvature, LevelRecord& record, Observer& observer,
               bool candidate_is_alone = true);

  /// The blocks decide, unless noise alone agrees with them: a third of the shared structure is
  /// lost; where they do not settle, any of it, or the measure knows better. Nor where the start is
  /// to be kept and the measure prefers it.
  void finish(LinearCandidate& found, const LinearCandidate& start, LinearCost& cost,
              LinearResult& result, LevelRecord& record);

  /// Unasked only where slices are thin: a block of four thick ones (PET: 32 mm of a head) spans
  /// structures, it holds none.
  bool uses_blocks() const;

  /// How far the object's edge lies apart under two transforms, mm, roughly.
  double edge_movement(const Eigen::Affine3d& a, const Eigen::Affine3d& b) const;

  void refine_found(LinearCandidate& found, LinearCost& cost, LevelRecord& record);

  Context& ctx_;
  const LinearOptions& options_;
  Observer& observer_;
  const std::vector<double> weights_;  // of the channels
  LinearLevels levels_;
  OverlapGuard guard_;
  ChannelMeasure similarity_;
  std::vector<ChannelRanges> ranges_;
  std::optional<SharedStructure> structures_[2];  // of the two coarsest levels, once asked for
  std::vector<Eigen::MatrixXd> curvatures_;       // of the full model, carried from level to level
};

}  // namespace freeflow
