// Private to atlas: the mean of linear maps, and the grid of a template.
#pragma once

#include <span>
#include <vector>

#include <Eigen/Geometry>

#include <freeflow/atlas/cohort.h>

namespace freeflow {

/// Root mean square distance (mm) between where two maps take the points of a ball (Jenkinson 1999,
/// "Measuring transformation error by RMS deviation", TR99MJ1).
double affine_distance_mm(const Eigen::Affine3d& a, const Eigen::Affine3d& b,
                          const Eigen::Vector3d& centre, double radius_mm);

struct TrimmedMean {
  Eigen::Affine3d mean = Eigen::Affine3d::Identity();
  std::vector<double> distance_mm;  ///< of every map to it
  std::vector<bool> left_out;
};

/// exp(mean of logarithms) in the order given, without those farther from the mean of all than
/// three robust standard deviations above the median distance, and than a twentieth of the radius.
/// Throws InvalidArgument where a map has no logarithm.
TrimmedMean trimmed_log_mean(std::span<const Eigen::Affine3d> affines,
                             const Eigen::Vector3d& centre, double radius_mm);

/// What of a map changes size and shape: without its turn about the centre and its shift of it.
Eigen::Affine3d shape_part(const Eigen::Affine3d& map, const Eigen::Vector3d& centre);

/// The subjects' own grid where all have the same. Else cubes of the median of their smallest voxel
/// sides, along the axes of the world, as far as the median of their fields of view, about
/// `centre`.
Geometry template_grid(std::span<const SubjectCard> cards, const Eigen::Vector3d& centre);

/// The space that all of them say they lie in; where they differ, what a Geometry has.
int common_space_code(std::span<const SubjectCard> cards);

/// The middle one of the values in order.
double median(std::vector<double> values);

/// Decimated so many times by 2 towards cubes.
Geometry coarser_grid(const Geometry& full, int times);

}  // namespace freeflow
