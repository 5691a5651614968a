// What can be seen wrong with a chain of transforms before anything is resampled.
#pragma once

#include <string>
#include <vector>

#include <freeflow/io/transforms/host_transform.h>

namespace freeflow::apps {

/// One -t: FILE, or [FILE,1] for its inverse.
struct ListedTransform {
  std::string path;
  bool inverse = false;
};

bool has_affine(const HostTransform& transform);

/// What is known of the images that the file listed[i] lies between, of those that the chain does:
/// behind an affine points lie in another space than the fixed image's, and only the last file
/// leads to the moving one's.
TransformContext context_of(const std::vector<ListedTransform>& listed, std::size_t i,
                            bool behind_affine, TransformContext chain);

/// Throws InvalidArgument for neighbours of one registration in an order that leads nowhere: the
/// affine before the warp, the inverse warp with the affine that is not inverted.
void check_order(const std::vector<ListedTransform>& listed);

/// Warns of a registration's warp, or inverse warp, that is listed without the affine beside it: a
/// registration's transform is both.
void warn_of_missing_affine(const std::vector<ListedTransform>& listed,
                            std::vector<std::string>& warnings);

/// Throws InvalidArgument for an affine that flattens space and for displacements that differ by
/// more than the size of the grid they stand on.
void check_values(const std::string& path, const HostTransform& transform);

/// Follows a sample of the reference's voxels through the chain (not through the displacements of
/// inverted fields) to where they come to lie. Throws InvalidArgument when less than a hundredth of
/// them meets a field, which is then of another space.
std::vector<Eigen::Vector3d> sample_through(const std::vector<ListedTransform>& listed,
                                            const std::vector<HostTransform>& transforms,
                                            const Geometry& reference);

/// Points spread evenly over the grid, in world coordinates: those that sample_through() follows.
std::vector<Eigen::Vector3d> sample_of(const Geometry& grid);

/// The share of the points that the grid holds.
double share_inside(const std::vector<Eigen::Vector3d>& points, const Geometry& grid);

}  // namespace freeflow::apps
