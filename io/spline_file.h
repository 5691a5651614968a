// Control points of a cubic B-spline deformation in a file: a thirtieth of a displacement field's
// bytes at three voxels from one to the next.
#pragma once

#include <string>

#include <freeflow/deform/control_point_grid.h>

namespace freeflow {

/// Writes ITK's BSplineTransform (.h5): points of the fixed space, LPS millimetres, displaced. The
/// lattice has one more control point on every side than the spline's support needs, for ITK
/// displaces nothing beyond it, and a border voxel may lie there by a rounding. read_transform_file
/// reads it. Waits for the device. Throws IoError, WriteError.
void write_spline(Context& ctx, const std::string& path, const ControlPointGrid& lattice);

}  // namespace freeflow
