// Private to io: geometries that files declare, made usable or refused.
#pragma once

#include <string>
#include <vector>

#include <freeflow/core/geometry.h>
#include <freeflow/io/nifti_file.h>

namespace freeflow {

/// Millimetres between the places that two maps give the same voxel, at its largest over the grid.
double largest_shift_mm(const Extent& extent, const Eigen::Affine3d& a, const Eigen::Affine3d& b);

/// ITK 5.2 reads no NIfTI-2, and of lengths in another unit it scales the voxels but not the
/// origin.
bool placed_by_itk(const NiftiHeader& header);

/// The grid of a NIfTI file: where ITK places it, by its rule for sform and qform, and an sform
/// that it refuses as it stands; else by the sform, a sheared one beside a qform by that. Warns of
/// lengths in another unit, which are converted. Warns when another program that prefers the sform
/// would place the voxels elsewhere, else when the sform's axes are not as long as the voxels, and
/// when the file declares no orientation.
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
