// What a discrete start found, and whether it was taken.
#pragma once

#include <string>

namespace freeflow {

struct StartRecord {
  bool taken = false;
  std::string reason;                              ///< a sentence
  double largest_mm = 0, root_mean_square_mm = 0;  ///< lengths of the displacement
  /// sqrt(sum |u|^4 / sum |u|^2): the length of what moves, whatever lies still around it; where
  /// the moving image shows something or where the fixed one does, whichever is less
  double moving_parts_mm = 0;
  /// cube root of the fixed image's volume, no side less than half of the longest, which lengths
  /// are judged by
  double object_mm = 0;
  double voxel_mm = 0;  ///< of the coarse grid, the least side
  /// Mean square of the descriptors' differences, in [0, 1], at the affine and at the displacement,
  /// over what both see; 0 where nothing is seen.
  double cost_before = 0, cost_after = 0;
  /// Mean of |u(x) + v(x + u(x))| after the coarse search, v the other direction's, before the two
  /// are made consistent.
  double inconsistency_mm = 0;
  double seconds = 0;
};

/// Whether a start pays: parts of the object move by more than a gradient is sure to find
/// (moving_parts_mm above 4.5 % of object_mm), and the descriptors differ by 17.5 % less than
/// before. Both are of the displacement that has been made consistent: what one direction alone
/// finds is gone from it. Sets `taken` and `reason`. (Where the coarse cells show less than four
/// fifths of that length, the displacement is theirs.)
void judge(StartRecord& record);

}  // namespace freeflow
