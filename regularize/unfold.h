// Removes the folds that an optimised deformation may still have. Where the Jacobian determinant of
// the sampled field falls below a bound, the control points that reach there move halfway to the
// mean of their neighbours, until no voxel is left: repeated averaging leads to an affine motion,
// which does not fold. Only the neighbourhood of folds changes. (In the spirit of Karacali and
// Davatzikos 2004, who also correct a field after the fact, locally.)
#pragma once

#include <freeflow/core/cancelled.h>
#include <freeflow/deform/control_point_grid.h>

namespace freeflow {

struct UnfoldOptions {
  double bound = 0.05;  ///< the smallest determinant that stays
  int max_rounds = 100;
};

struct UnfoldResult {
  std::size_t voxels_before = 0;  ///< voxels below the bound at the start
  std::size_t voxels_after = 0;
  int rounds = 0;
};

/// Works on the lattice, in place, so that every voxel of `u` (the lattice sampled on u's grid;
/// overwritten with the result) has a determinant above the bound, or until max_rounds. Waits once
/// per round. Throws Cancelled when asked to stop.
UnfoldResult unfold(Context& ctx, ControlPointGrid& lattice, DisplacementField& u,
                    const UnfoldOptions& options = {}, const StopRequest& stop = {});

/// The same on a dense field without a lattice: the voxels within four of a fold move halfway to
/// their neighbours' mean, four times a round.
UnfoldResult unfold(Context& ctx, DisplacementField& u, const UnfoldOptions& options = {},
                    const StopRequest& stop = {});

}  // namespace freeflow
