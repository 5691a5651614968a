// Private to io: geometries that files declare, made usable or refused.
#pragma once

#include <string>
#include <vector>

#include <freeflow/core/geometry.h>
#include <freeflow/io/nifti_file.h>

namespace freeflow {

/// Millimetres between the places that two maps give the same voxel, at its largest over the grid.
double largest_shift_mm(const Extent& extent, const Eigen::Affine3d& a, const Eigen::Affine3d& b);

/// The grid of a NIfTI file: of NIfTI-1 by ITK's rule for sform and qform, where an sform that ITK
/// refuses is taken as it stands; of NIfTI-2 by the sform, a sheared one beside a qform by that.
/// Warns when another program that prefers the sform would place the voxels elsewhere, else when
/// the sform's axes are not as long as the voxels, and when the file declares no orientation.
Geometry nifti_geometry(const NiftiHeader& header, std::vector<std::string>& warnings);

/// Of an sform whose axes are not as long as the voxels are said to be.
void warn_of_voxel_size(const std::string& path, const Eigen::Vector3d& said,
                        const Eigen::Affine3d& sform, std::vector<std::string>& warnings);

/// Replaces a direction that is a little off by the nearest orthonormal one and warns how far that
/// moves voxels. Throws IoError when axes are more than about one degree off the perpendicular or
/// when spacing or origin are no use.
void make_orthonormal(const std::string& path, Geometry& geometry,
                      std::vector<std::string>& warnings);

}  // namespace freeflow
