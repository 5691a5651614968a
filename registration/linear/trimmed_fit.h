// Private: a transform fitted to matched points by least trimmed squares (Ourselin 2001, Modat
// 2014): from those that lie nearest, of which a fixed share is kept, fit by fit.
#pragma once

#include <vector>

#include <freeflow/registration/linear/block_matching.h>
#include <freeflow/registration/linear/linear_parameters.h>

namespace freeflow {

/// The transform of the model about `center` that takes the best part (`share`) of the matches
/// nearest to where they were found under `world`, in the sense of least squares; `world` itself
/// when there are too few matches to tell. Of matches that lie equally far at the share's edge each
/// counts alike. The same bits with any number of threads.
Eigen::Affine3d fit_trimmed(const std::vector<PointMatch>& matches, LinearModel model,
                            const Eigen::Vector3d& center, double radius_mm,
                            const Eigen::Affine3d& world, double share, int threads = 1);

}  // namespace freeflow
