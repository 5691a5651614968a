#include <freeflow/transform/transform.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <freeflow/deform/host_planes.h>
#include <freeflow/deform/host_sampling.h>
#include <freeflow/transform/affine_split.h>

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
  return then(std::make_shared<const DisplacementField>(std::move(field)));
}

Transform& Transform::then(std::shared_ptr<const DisplacementField> field) {
  require(field && !field->empty(), "a displacement field of a transform must not be empty");
  links_.push_back({std::move(field), Eigen::Affine3d::Identity()});
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
      fields_.push_back(
          {HostPlanes(ctx, *link.field), g, g.world_to_index(), g.index_to_world(), link.after});
    }
  }

  /// Finds the affines that the fields hold.
  void find_affines(int threads) {
    for (Field& field : fields_) {
      const Eigen::Affine3d fit = affine_fit(field.grid.extent, field.planes.planes(), threads);
      if (!freeflow::holds_affine(field.grid, fit)) continue;
      holds_affine_ = true;
      field.slope = fit.linear();
      field.affine.translate(fit.translation());
      field.affine.linear() += fit.linear();
    }
  }
  /// Whether one of its fields holds one.
  bool holds_affine() const { return holds_affine_; }

  /// What the chain is without its deformations.
  Eigen::Affine3d affine() const {
    Eigen::Affine3d whole = first_;
    for (const Field& f : fields_) whole = f.after * f.to_world * f.affine * f.to_index * whole;
    return whole;
  }

  Eigen::Vector3d operator()(const Eigen::Vector3d& point) const {
    Eigen::Vector3d p = first_ * point;
    for (const Field& f : fields_) {
      const Eigen::Vector3d index = f.to_index * p;
      if (f.holds(index)) p += f.to_world.linear() * sample_on_host(f.view(), index);
      p = f.after * p;
    }
    return p;
  }

  /// Where a point and the derivative there lead; on a face between voxels that of one side.
  struct Led {
    Eigen::Vector3d point;
    Eigen::Matrix3d derivative;
    bool held = true;  ///< by the grids of all fields
  };
  /// What a field does beyond its grid: as at the border is up to its end as it is, with its affine
  /// goes on from the outermost centres as split_affine() has it.
  enum class Beyond { nothing, as_its_border, with_its_affine };

  Led operator()(const Eigen::Vector3d& point, Beyond beyond) const {
    Led led{first_ * point, first_.linear()};
    for (const Field& f : fields_) {
      const Eigen::Vector3d index = f.to_index * led.point;
      const bool with_affine = beyond == Beyond::with_its_affine, holds = f.holds(index);
      led.held = led.held && (with_affine ? f.past_centres(index).isZero(1e-6) : holds);
      if (holds || (beyond != Beyond::nothing && index.allFinite())) {
        const HostCell cell(f.grid.extent, index);
        Eigen::Vector3d vector = sample_on_host(f.view(), cell);
        Eigen::Matrix3d gradient = gradient_on_host(f.view(), cell);
        if (with_affine) {
          vector += f.slope * f.past_centres(index);
          for (int a = 0; a < 3; ++a)
            if (cell.constant[a]) gradient.col(a) += f.slope.col(a);
        }
        led.point += f.to_world.linear() * vector;
        led.derivative += f.to_world.linear() * gradient * f.to_index.linear() * led.derivative;
      }
      led.point = f.after * led.point;
      led.derivative = f.after.linear() * led.derivative;
    }
    return led;
  }

 private:
  struct Field {
    HostPlanes planes;
    Geometry grid;
    Eigen::Affine3d to_index, to_world, after;
    /// The affine that the field holds, in voxels, and how its vectors grow by it.
    Eigen::Affine3d affine = Eigen::Affine3d::Identity();
    Eigen::Matrix3d slope = Eigen::Matrix3d::Zero();

    FieldView<const float> view() const { return planes.view(); }
    /// How far a position lies beyond the outermost centres.
    Eigen::Vector3d past_centres(const Eigen::Vector3d& index) const {
      const Eigen::Vector3d last(grid.extent.x - 1, grid.extent.y - 1, grid.extent.z - 1);
      return index - index.cwiseMax(0).cwiseMin(last);
    }
    /// Outside the grid nothing is displaced.
    bool holds(const Eigen::Vector3d& index) const {
      for (int a = 0; a < 3; ++a)
        if (!(index[a] >= -0.5 && index[a] <= grid.extent[a] - 0.5)) return false;
      return true;
    }
  };

  Eigen::Affine3d first_;
  std::vector<Field> fields_;
  bool holds_affine_ = false;
};

using Beyond = HostChain::Beyond;

struct Solution {
  Eigen::Vector3d x;
  double residual_mm = 0;
  bool held = false;  ///< x and what it becomes lie on the grids of all fields

  bool solved() const { return residual_mm <= MappedBack::solved_mm; }
};

/// The x that the chain takes to `wanted`, from a start. Newton's method, backtracking where a step
/// gains nothing.
Solution newton(const HostChain& chain, Beyond beyond, const Eigen::Vector3d& wanted,
                Eigen::Vector3d x) {
  constexpr int most_steps = 60;
  constexpr double close_enough_mm = 1e-7;
  HostChain::Led now = chain(x, beyond);
  Eigen::Vector3d error = now.point - wanted;
  for (int k = 0; k < most_steps && error.norm() > close_enough_mm; ++k) {
    const Eigen::Vector3d step = now.derivative.partialPivLu().solve(error);
    bool better = false;
    for (double t = 1; t > 1e-3 && !better; t *= 0.5) {
      const Eigen::Vector3d trial = x - t * step;
      const HostChain::Led there = chain(trial, beyond);
      const Eigen::Vector3d left = there.point - wanted;
      better = left.norm() < error.norm();
      if (better) x = trial, error = left, now = there;
    }
    if (!better) break;
  }
  return {x, error.norm(), now.held};
}

/// As newton(); where that is caught between steep places, what is asked for moves there from what
/// is known, in steps that Newton's method can follow.
Solution follow(const HostChain& chain, Beyond beyond, const Eigen::Vector3d& wanted,
                const Eigen::Vector3d& start) {
  Solution direct = newton(chain, beyond, wanted, start);
  if (direct.solved()) return direct;
  constexpr double smallest_step = 1.0 / 256;
  const Eigen::Vector3d known = chain(start, beyond).point;
  Solution last{start};
  for (double reached = 0, step = 0.125; reached < 1;) {
    const double next = std::min(1.0, reached + step);
    const Solution trial = newton(chain, beyond, known + next * (wanted - known), last.x);
    if (trial.solved()) {
      last = trial, reached = next, step *= 2;
    } else if ((step *= 0.5) < smallest_step) {
      return direct;
    }
  }
  return last;
}

/// A field ends at the border of its grid, and the chain jumps there. Where that is in the way, the
/// way leads through fields that go on beyond, to a point within. Of fields that hold an affine it
/// begins where that affine leads back to; they turn round at their outermost centres.
class BackwardSolver {
 public:
  BackwardSolver(const HostChain& chain, const Eigen::Affine3d& affine_part)
      : chain_(chain), without_fields_(inverted(affine_part)),
        without_deformations_(inverted(chain.affine())), alike_(!chain.holds_affine()) {}

  Solution operator()(const Eigen::Vector3d& wanted) const {
    if (!alike_) {
      Solution within =
          follow(chain_, Beyond::with_its_affine, wanted, without_deformations_ * wanted);
      if (within.solved() && within.held) return within;
    }
    const Eigen::Vector3d start = without_fields_ * wanted;
    Solution direct = follow(chain_, Beyond::nothing, wanted, start);
    if (direct.solved() && direct.held) return direct;
    Solution within = follow(chain_, Beyond::as_its_border, wanted, start);
    return within.solved() && within.held ? within : direct;
  }

 private:
  static Eigen::Affine3d inverted(const Eigen::Affine3d& affine) {
    require(std::abs(affine.linear().determinant()) > 1e-12,
            "the transform's affine part is singular");
    return affine.inverse();
  }

  const HostChain& chain_;
  Eigen::Affine3d without_fields_, without_deformations_;
  bool alike_;
};

}  // namespace

Eigen::Affine3d affine_part(const Transform& transform) {
  Eigen::Affine3d affine = transform.first();
  for (const Transform::Link& link : transform.links()) affine = link.after * affine;
  return affine;
}

std::vector<Eigen::Vector3d> map_points(Context& ctx, const Transform& transform,
                                        std::span<const Eigen::Vector3d> points) {
  const HostChain chain(ctx, transform);
  std::vector<Eigen::Vector3d> mapped(points.size());
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (std::size_t i = 0; i < points.size(); ++i) mapped[i] = chain(points[i]);
  return mapped;
}

MappedBack map_points_back(Context& ctx, const Transform& transform,
                           std::span<const Eigen::Vector3d> points) {
  HostChain chain(ctx, transform);
  chain.find_affines(ctx.threads());
  const BackwardSolver solve(chain, affine_part(transform));
  MappedBack result;
  result.points.resize(points.size());
  double largest_mm = 0;
  std::size_t unsolved = 0;
#pragma omp parallel for schedule(dynamic, 1024) num_threads(ctx.threads()) \
    reduction(max : largest_mm) reduction(+ : unsolved)
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Solution solution = solve(points[i]);
    result.points[i] = solution.x;
    largest_mm = std::max(largest_mm, solution.residual_mm);
    unsolved += !solution.solved();
  }
  result.largest_residual_mm = largest_mm;
  result.unsolved_points = unsolved;
  return result;
}

}  // namespace freeflow
