// Removes the folds that an optimised deformation may still have.
//
// A map of voxels, linear between them, is one to one only if the determinants by forward or
// backward differences are positive at all eight corners of a voxel (Liu 2024; JacobianStatistics
// has the formula). Each is the volume of a tetrahedron, of the voxel and a neighbour per axis.
// Corners below the bound move their four voxels along the gradient of their volume, by as much as
// takes them above, one after the other (the volume constraints of position-based dynamics, Mueller
// 2007; in the spirit of Karacali and Davatzikos 2004, who also correct a field after the fact,
// locally). A voxel that stays folded is averaged with its neighbours, too; after many rounds all
// near it are. Only the neighbourhood of folds changes; a field without folds keeps its bits.
#pragma once

#include <freeflow/core/cancelled.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

struct UnfoldOptions {
  double bound = 0.01;  ///< the smallest determinant that stays; rounding a field to mm in float
                        ///< must not fold it again
  int max_rounds = 100;
};

struct UnfoldResult {
  std::size_t voxels_before = 0;  ///< voxels below the bound at the start
  std::size_t voxels_after = 0;
  int rounds = 0;
};

/// Works in place until no corner of a voxel of `u` has a determinant below the bound, or until
/// max_rounds. The same bits for any number of threads and on every device. Cost: one look at the
/// whole field, then per round what lies near folds; two bytes a voxel. Waits once per round.
/// Throws Cancelled when asked to stop.
UnfoldResult unfold(Context& ctx, DisplacementField& u, const UnfoldOptions& options = {},
                    const StopRequest& stop = {});

}  // namespace freeflow
