#include <freeflow/atlas/frame.h>

#include <algorithm>
#include <cmath>

#include <freeflow/deform/affine_algebra.h>
#include <freeflow/registration/levels/pyramid.h>
#include <freeflow/registration/linear/linear_parameters.h>
#include <freeflow/regularize/gaussian.h>

namespace freeflow {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double affine_distance_mm(const Eigen::Affine3d& a, const Eigen::Affine3d& b,
                          const Eigen::Vector3d& centre, double radius_mm) {
  const Eigen::Matrix3d linear = a.linear() - b.linear();
  const Eigen::Vector3d shift = a * centre - b * centre;
  return std::sqrt(radius_mm * radius_mm / 5 * linear.squaredNorm() + shift.squaredNorm());
}

TrimmedMean trimmed_log_mean(std::span<const Eigen::Affine3d> affines,
                             const Eigen::Vector3d& centre, double radius_mm) {
  TrimmedMean result;
  result.left_out.assign(affines.size(), false);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<Eigen::Affine3d> kept;
    for (std::size_t i = 0; i < affines.size(); ++i)
      if (!result.left_out[i]) kept.push_back(affines[i]);
    result.mean = log_mean(kept);
    result.distance_mm.clear();
    for (const Eigen::Affine3d& a : affines)
      result.distance_mm.push_back(affine_distance_mm(a, result.mean, centre, radius_mm));
    if (pass == 1) break;
    const double middle = median(result.distance_mm);
    std::vector<double> spread;
    for (const double d : result.distance_mm) spread.push_back(std::abs(d - middle));
    const double limit = middle + std::max(3 * 1.4826 * median(spread), radius_mm / 20);
    for (std::size_t i = 0; i < affines.size(); ++i)
      result.left_out[i] = result.distance_mm[i] > limit;
  }
  return result;
}

Eigen::Affine3d shape_part(const Eigen::Affine3d& map, const Eigen::Vector3d& centre) {
  LinearDecomposition parts = decompose(map, centre);
  parts.rotation.setIdentity();
  parts.translation.setZero();
  return compose(parts, centre);
}

int common_space_code(std::span<const SubjectCard> cards) {
  const int first = cards[0].geometry.space_code;
  const bool all = std::ranges::all_of(
      cards, [&](const SubjectCard& c) { return c.geometry.space_code == first; });
  return all ? first : Geometry{}.space_code;
}

Geometry template_grid(std::span<const SubjectCard> cards, const Eigen::Vector3d& centre) {
  Geometry grid = cards[0].geometry;
  const bool alike =
      std::ranges::all_of(cards, [&](const SubjectCard& c) { return same_grid(grid, c.geometry); });
  if (!alike) grid = {};
  grid.space_code = common_space_code(cards);
  if (alike) return grid;
  std::vector<double> sides, fields[3];
  for (const SubjectCard& c : cards) {
    const Geometry& g = c.geometry;
    sides.push_back(g.spacing.minCoeff());
    const Eigen::Vector3d lengths =
        g.spacing.cwiseProduct(Eigen::Vector3d(g.extent.x, g.extent.y, g.extent.z));
    for (int axis = 0; axis < 3; ++axis) {
      int along = 0;  // the grid's axis that lies nearest to the world's
      g.direction.row(axis).cwiseAbs().maxCoeff(&along);
      fields[axis].push_back(lengths[along]);
    }
  }
  grid.spacing = Eigen::Vector3d::Constant(median(sides));
  constexpr double rounding = 1e-3;  // of spacings in single precision, as headers have them
  int* const sizes[3] = {&grid.extent.x, &grid.extent.y, &grid.extent.z};
  for (int axis = 0; axis < 3; ++axis) {
    const double voxels = median(fields[axis]) / grid.spacing[axis];
    *sizes[axis] = std::max(8, int(std::ceil(voxels - rounding)));
    grid.origin[axis] = centre[axis] - 0.5 * (*sizes[axis] - 1) * grid.spacing[axis];
  }
  return grid;
}

Geometry coarser_grid(const Geometry& full, int times) {
  return decimated(full, factors_towards(full, full.spacing.minCoeff() * (1 << times)));
}

}  // namespace freeflow
