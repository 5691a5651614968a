// Private to io: ITK's BSplineTransform of third order, as numbers and on a grid.
#pragma once

#include <string>
#include <vector>

#include <freeflow/io/field_file.h>
#include <freeflow/io/stored_transform.h>

namespace freeflow {

/// The displacement at the voxel centres of `grid`; none outside the spline's domain, as in ITK.
/// The numbers have passed check_transform_numbers. Throws IoError.
HostField field_of_spline(const std::string& path, const StoredTransform& spline,
                          const Geometry& grid, std::vector<std::string>& warnings);

}  // namespace freeflow
