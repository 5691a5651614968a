// Which axes of the world a grid's axes run along.
#pragma once

#include <Eigen/Core>

namespace freeflow {

/// The world's axes, each once and with a sign, that those of `direction` run along best: of all
/// such matrices the one from which the smallest turn leads to it.
Eigen::Matrix3d nearest_world_axes(const Eigen::Matrix3d& direction);

}  // namespace freeflow
