// What a linear registration is told.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <freeflow/registration/linear/linear_parameters.h>
#include <freeflow/similarity/similarity_choice.h>

namespace freeflow {

enum class LinearSearch {
  /// Overview: all rotations on the coarsest level, in batches; the best few and the start refined
  /// by `gradient`. A turn of more than 45 degrees must match better than the best of less on the
  /// finest level, too.
  /// Good when: nothing is known of the start. The default.
  automatic,
  /// Overview: descent along the gradient from the start, level by level: BFGS, for SSD
  /// Gauss-Newton.
  /// Good when: the start is within about 20 degrees and a quarter of the object.
  gradient,
  /// Overview: Powell's directions from the start, level by level, with a resolution per parameter
  /// and a memory (Shams 2010).
  /// Good when: the gradient is not to be trusted. Several times the evaluations of `gradient`.
  powell,
  /// Overview: hill climbing from the start, level by level (Ledig 2010); ten of its single steps
  /// count as one iteration.
  hill,
  /// Overview: FLIRT's four stages as Li 2015 has them: 6x6x6 and 20x20x20 rotations at 8 mm, three
  /// candidates and their neighbours at 4 mm, 7, 9 and 12 parameters at 2 mm, all at 1 mm, by
  /// Powell's search.
  /// Good when: its results are to be compared. `automatic` is as robust and faster.
  flirt
};
std::optional<LinearSearch> parse_linear_search(std::string_view name);

enum class LinearRefinement {
  /// Blocks where the search is automatic: two heads differ in ways that no linear transform
  /// follows, and then the measure of the whole is the largest structure's. Its answer stays where
  /// half of the blocks agree with it, as for one object moved rigidly, and where slices are
  /// thicker than 6 mm (of a head), as in PET. It also stays where the fit would lose a third of
  /// the structure that the images share (blocks of noise), however the blocks were asked for.
  automatic,
  /// After the search, on the finest level: blocks matched by correlation, and the transform fitted
  /// to the best 30 % (Ourselin 2001).
  blocks,
  none
};
std::optional<LinearRefinement> parse_linear_refinement(std::string_view name);

/// Powell's search evaluates nothing nearer than this to a point that it has evaluated; in
/// proportion on coarser levels.
struct PowellResolution {
  double mm = 0.02;       ///< of translations of a head; in proportion for other objects
  double degrees = 0.05;  ///< of rotations; scales and skews: what moves the head's edge as far
};

struct LinearOptions {
  SimilarityChoice similarity;
  LinearModel model = LinearModel::affine;
  LinearSearch search = LinearSearch::automatic;
  LinearRefinement refinement = LinearRefinement::automatic;
  /// Of about 8, 4 and 2 mm for a head (a fourth: 1 mm, seven times the work); levels finer than
  /// the images are left out.
  int levels = 3;
  /// Before a nonrigid stage: where the blocks lead to a worse measure than the start's, as where
  /// organs slide along a wall that stays, no linear transform helps, and the start is kept. The
  /// nonrigid stage follows the organs; it does not bring the wall back.
  bool keep_better_start = false;
  std::vector<int> iterations;     ///< at most so many, one value or one per level, coarse to fine;
                                   ///< empty: 40, 30, 15, 6
  PowellResolution resolution;     ///< of the searches powell and flirt; zeros: no memory
  double smallest_overlap = 0.05;  ///< of the smaller image; less is a failure
  /// world transform, fixed point to moving point (mm, LPS)
  Eigen::Affine3d initial = Eigen::Affine3d::Identity();

  /// Throws InvalidArgument with the field, as LinearOptions::field, and its mend.
  void validate() const;
  /// Level of those kept: coarse levels of small images, which would repeat a finer one, are left
  /// out.
  int iterations_of_level(int level, int levels_kept) const;
  /// Whether it is refined by blocks at the end; the automatic choice still leaves thick slices
  /// out.
  bool refines() const;
};

}  // namespace freeflow
