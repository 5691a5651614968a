#include <freeflow/evaluation/field_quality.h>

#include <algorithm>
#include <cmath>

#include <freeflow/deform/host_planes.h>
#include <freeflow/deform/host_sampling.h>
#include <freeflow/evaluation/corner_jacobian.h>
#include <freeflow/evaluation/statistics.h>

namespace freeflow {

namespace {

using Field = FieldView<const float>;

constexpr double infinity = std::numeric_limits<double>::infinity();

HostPlanes finite_planes(Context& ctx, const DisplacementField& u) {
  HostPlanes planes(ctx, u);
  require(std::ranges::all_of(planes.planes(), [](float v) { return std::isfinite(v); }),
          "the displacement field holds a number that is not finite");
  return planes;
}

Eigen::Vector3d vector_at(const Field& u, int x, int y, int z) {
  return vector_on_host(u, u.extent.offset(x, y, z));
}

double central_jacobian(const Field& u, const int (&at)[3]) {
  Eigen::Vector3d d[3];
  for (int a = 0; a < 3; ++a)
    d[a] = derivative_on_host(u, at, a, at[a] > 0 ? 1 : 0, at[a] + 1 < u.extent[a] ? 1 : 0);
  return d[0].dot(d[1].cross(d[2]));
}

/// What one slice says. Slices are added up in their order, so that the bits do not depend on the
/// threads.
struct Part {
  std::size_t folded = 0, inner = 0, corner_folds = 0;
  double low = infinity, high = -infinity, corner_low = infinity, longest = 0;
  Moments log_jacobian, length;

  void take(double jacobian, double length_mm) {
    low = std::min(low, jacobian);
    high = std::max(high, jacobian);
    longest = std::max(longest, length_mm);
    length.add(length_mm);
    if (jacobian > 0)
      log_jacobian.add(std::log(jacobian));
    else
      ++folded;
  }
  void take_corner(double jacobian) {
    ++inner;
    corner_low = std::min(corner_low, jacobian);
    corner_folds += jacobian <= 0;
  }
  void add(const Part& other) {
    folded += other.folded;
    inner += other.inner;
    corner_folds += other.corner_folds;
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    corner_low = std::min(corner_low, other.corner_low);
    longest = std::max(longest, other.longest);
    log_jacobian.add(other.log_jacobian);
    length.add(other.length);
  }
};

std::vector<float> on_grid_of(Context& ctx, const DisplacementField& u, const Volume<float>* mask) {
  require(!mask || same_grid(mask->geometry(), u.geometry()),
          "the mask does not share the field's grid");
  return mask ? mask->to_host(ctx) : std::vector<float>();
}

Part part_of_slice(const Field& u, const Eigen::Vector3d& spacing, const std::vector<float>& mask,
                   int z) {
  const Extent n = u.extent;
  Part part;
  for (int y = 0; y < n.y; ++y)
    for (int x = 0; x < n.x; ++x) {
      if (!mask.empty() && !(mask[n.offset(x, y, z)] > 0.5f)) continue;
      const int at[3] = {x, y, z};
      part.take(central_jacobian(u, at), spacing.cwiseProduct(vector_at(u, x, y, z)).norm());
      if (x > 0 && y > 0 && z > 0 && x + 1 < n.x && y + 1 < n.y && z + 1 < n.z)
        part.take_corner(smallest_corner_jacobian(u, at));
    }
  return part;
}

}  // namespace

FieldQuality field_quality(Context& ctx, const DisplacementField& u, const Volume<float>* mask) {
  const std::vector<float> counts = on_grid_of(ctx, u, mask);
  const HostPlanes planes = finite_planes(ctx, u);
  std::vector<Part> parts(std::size_t(u.extent().z));
#pragma omp parallel for schedule(dynamic) num_threads(ctx.threads())
  for (int z = 0; z < u.extent().z; ++z)
    parts[std::size_t(z)] = part_of_slice(planes.view(), u.geometry().spacing, counts, z);
  Part all;
  for (const Part& part : parts) all.add(part);
  FieldQuality q;
  q.voxels = all.length.count;
  if (q.voxels == 0) return q;
  q.folded_voxels = all.folded;
  q.jacobian_min = all.low;
  q.jacobian_max = all.high;
  q.mean_log_jacobian = all.log_jacobian.mean();
  q.sd_log_jacobian = all.log_jacobian.deviation();
  q.inner_voxels = all.inner;
  q.corner_folds = all.corner_folds;
  if (q.inner_voxels > 0) q.corner_jacobian_min = all.corner_low;
  q.mean_mm = all.length.mean();
  q.max_mm = all.longest;
  return q;
}

InverseQuality inverse_quality(Context& ctx, const DisplacementField& u, const DisplacementField& v,
                               int margin, const Volume<float>* mask) {
  v.geometry().validate("its inverse");
  require(margin >= 0, "the margin of an inverse's residual must not be negative");
  const std::vector<float> counts = on_grid_of(ctx, u, mask);
  const HostPlanes forth = finite_planes(ctx, u), back = finite_planes(ctx, v);
  const Extent n = u.extent(), inner{n.x - 2 * margin, n.y - 2 * margin, n.z - 2 * margin};
  InverseQuality q;
  if (inner.x <= 0 || inner.y <= 0 || inner.z <= 0) return q;
  const Eigen::Affine3d to_v = v.geometry().world_to_index() * u.geometry().index_to_world();
  const Eigen::Matrix3d vectors = to_v.linear().inverse();
  constexpr double not_counted = -1;
  std::vector<double> residuals(inner.count());
#pragma omp parallel for schedule(dynamic) num_threads(ctx.threads())
  for (int z = 0; z < inner.z; ++z)
    for (int y = 0; y < inner.y; ++y)
      for (int x = 0; x < inner.x; ++x) {
        double& residual = residuals[inner.offset(x, y, z)];
        residual = not_counted;
        if (!counts.empty() && !(counts[n.offset(x + margin, y + margin, z + margin)] > 0.5f))
          continue;
        const Eigen::Vector3d d = vector_at(forth.view(), x + margin, y + margin, z + margin);
        const Eigen::Vector3d p = d + Eigen::Vector3d(x + margin, y + margin, z + margin);
        residual = (d + vectors * sample_on_host(back.view(), to_v * p)).norm();
      }
  std::erase(residuals, not_counted);
  if (residuals.empty()) return q;
  Moments moments;
  for (const double r : residuals) moments.add(r);
  q.voxels = residuals.size();
  q.mean_voxels = moments.mean();
  q.p99_voxels = percentile(residuals, 99);
  q.max_voxels = *std::max_element(residuals.begin(), residuals.end());
  return q;
}

}  // namespace freeflow
