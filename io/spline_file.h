// Control points of a cubic B-spline deformation in a file: a twentieth of a displacement field's
// bytes at three voxels from one to the next.
#pragma once

#include <string>
#include <vector>

#include <freeflow/deform/control_point_grid.h>

namespace freeflow {

/// Control points in host memory, with one more on every side than the spline's support needs: ITK
/// displaces nothing beyond that, and a border voxel may lie there by a rounding.
struct HostSpline {
  Geometry lattice;           ///< where they stand in the world
  std::vector<float> planes;  ///< LPS millimetres: all x components, then all y, then all z
};

/// Waits for the device.
HostSpline to_host(Context& ctx, const ControlPointGrid& lattice);

/// Writes ITK's BSplineTransform (.h5) in single precision, as it is: such numbers hardly compress.
/// It displaces points of the fixed space; read_transform_file reads it. Throws IoError,
/// WriteError.
void write_spline(const std::string& path, const HostSpline& spline);

}  // namespace freeflow
