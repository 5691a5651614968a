#include <freeflow/transform/transform.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <freeflow/deform/host_sampling.h>

namespace freeflow {

Transform::Transform(DisplacementField u, const Eigen::Affine3d& affine) {
  if (!u.empty()) then(std::move(u));
  then(affine);
}

Transform& Transform::then(const Eigen::Affine3d& affine) {
  Eigen::Affine3d& last = links_.empty() ? first_ : links_.back().after;
  last = affine * last;
  return *this;
}

Transform& Transform::then(DisplacementField field) {
  require(!field.empty(), "a displacement field of a transform must not be empty");
  links_.push_back(
      {std::make_shared<const DisplacementField>(std::move(field)), Eigen::Affine3d::Identity()});
  return *this;
}

Transform& Transform::then(const Transform& other) {
  const std::vector<Link> appended = other.links_;  // the two may be one
  then(other.first_);
  links_.insert(links_.end(), appended.begin(), appended.end());
  return *this;
}

namespace {

/// A transform on the host.
class HostChain {
 public:
  HostChain(Context& ctx, const Transform& transform) : first_(transform.first()) {
    for (const Transform::Link& link : transform.links()) {
      const Geometry& g = link.field->geometry();
      fields_.push_back({link.field->to_host(ctx), g.extent, g.world_to_index(),
                         g.index_to_world().linear(), link.after});
    }
  }

  Eigen::Vector3d operator()(const Eigen::Vector3d& point) const {
    Eigen::Vector3d p = first_ * point;
    for (const Field& f : fields_) p = f.after * (p + f.displacement(p));
    return p;
  }

 private:
  struct Field {
    std::vector<float> planes;
    Extent extent;
    Eigen::Affine3d to_index;
    Eigen::Matrix3d to_world;
    Eigen::Affine3d after;

    Eigen::Vector3d displacement(const Eigen::Vector3d& world) const {
      const Eigen::Vector3d p = to_index * world;
      for (int a = 0; a < 3; ++a)
        if (!(p[a] >= -0.5 && p[a] <= extent[a] - 0.5)) return Eigen::Vector3d::Zero();
      return to_world * sample_on_host({planes.data(), extent}, p);
    }
  };

  Eigen::Affine3d first_;
  std::vector<Field> fields_;
};

}  // namespace

std::vector<Eigen::Vector3d> map_points(Context& ctx, const Transform& transform,
                                        std::span<const Eigen::Vector3d> points) {
  const HostChain chain(ctx, transform);
  std::vector<Eigen::Vector3d> mapped;
  mapped.reserve(points.size());
  for (const Eigen::Vector3d& p : points) mapped.push_back(chain(p));
  return mapped;
}

MappedBack map_points_back(Context& ctx, const Transform& transform,
                           std::span<const Eigen::Vector3d> points) {
  const HostChain chain(ctx, transform);
  // Without the fields the chain is an affine: a start from which most points need a few steps.
  Eigen::Affine3d affine = transform.first();
  for (const Transform::Link& link : transform.links()) affine = link.after * affine;
  require(std::abs(affine.linear().determinant()) > 1e-12,
          "the transform's affine part is singular");
  const Eigen::Affine3d back = affine.inverse();
  constexpr int most_steps = 60;
  constexpr double h = 1e-3, close_enough = 1e-7;  // mm
  MappedBack result;
  result.points.reserve(points.size());
  for (const Eigen::Vector3d& wanted : points) {
    Eigen::Vector3d x = back * wanted, error = chain(x) - wanted;
    for (int k = 0; k < most_steps && error.norm() > close_enough; ++k) {
      Eigen::Matrix3d jacobian;
      for (int a = 0; a < 3; ++a) {
        const Eigen::Vector3d step = h * Eigen::Vector3d::Unit(a);
        jacobian.col(a) = (chain(x + step) - chain(x - step)) / (2 * h);
      }
      const Eigen::Vector3d newton = jacobian.partialPivLu().solve(error);
      bool better = false;
      for (double t = 1; t > 1e-3 && !better; t *= 0.5) {
        const Eigen::Vector3d trial = x - t * newton, left = chain(trial) - wanted;
        better = left.norm() < error.norm();
        if (better) x = trial, error = left;
      }
      if (!better) break;
    }
    result.points.push_back(x);
    result.largest_residual_mm = std::max(result.largest_residual_mm, error.norm());
  }
  return result;
}

}  // namespace freeflow
