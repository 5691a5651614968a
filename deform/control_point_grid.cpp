#include <freeflow/deform/control_point_grid.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/control_point_grid_body.h>
#include <freeflow/deform/field_operations_body.h>
#include <freeflow/deform/warp.h>

namespace freeflow {

namespace {

int& size_of(Extent& e, int axis) { return axis == 0 ? e.x : axis == 1 ? e.y : e.z; }

/// (inner, outer) of a line stack of three planes of this extent.
int inner_of(Extent e, int axis) { return axis == 0 ? 1 : axis == 1 ? e.x : e.x * e.y; }
int outer_of(Extent e, int axis) { return axis == 0 ? e.y * e.z : axis == 1 ? e.z : 1; }

/// The lattice coordinate of the grid's first voxel centre, mm along the lattice's axes.
Eigen::Vector3d lattice_offset(const ControlPointGrid& lattice, const Geometry& grid) {
  const Geometry& fixed = lattice.fixed_geometry();
  require((fixed.direction - grid.direction).cwiseAbs().maxCoeff() < 1e-6,
          "the grid does not share the lattice's axes");
  return fixed.direction.transpose() * (grid.origin - fixed.origin);
}

}  // namespace

Geometry ControlPointGrid::geometry() const {
  Geometry lattice = fixed_;
  lattice.extent = extent_;
  lattice.spacing = spacing_;
  lattice.origin = fixed_.origin - fixed_.direction * spacing_;
  return lattice;
}

int ControlPointGrid::intervals(const Geometry& fixed, const Eigen::Vector3d& spacing_mm,
                                const Eigen::Vector3d& margin_mm, int axis) {
  const double length = (fixed.extent[axis] - 1) * fixed.spacing[axis] + margin_mm[axis];
  return std::max(1, int(std::ceil(length / spacing_mm[axis] - 1e-6)));
}

ControlPointGrid::ControlPointGrid(Context& ctx, const Geometry& fixed,
                                   const Eigen::Vector3d& spacing_mm,
                                   const Eigen::Vector3d& margin_mm)
    : fixed_(fixed), spacing_(spacing_mm), margin_(margin_mm) {
  require(spacing_mm.allFinite() && spacing_mm.minCoeff() > 0,
          "the control point spacing must be positive");
  for (int a = 0; a < 3; ++a) size_of(extent_, a) = intervals(fixed, spacing_mm, margin_mm, a) + 3;
  coefficients_ = Buffer<float>(ctx, 3 * extent_.count(), Planes{3});
  coefficients_.fill_zero(ctx);
}

ControlPointGrid::ControlPointGrid(Context& ctx, const ControlPointGrid& coarse, int axis)
    : fixed_(coarse.fixed_), spacing_(coarse.spacing_), margin_(coarse.margin_),
      extent_(coarse.extent_) {
  spacing_[axis] /= 2;
  // No more than subdivision fills, where rounding tells the halved spacing another interval.
  size_of(extent_, axis) =
      std::min(intervals(fixed_, spacing_, margin_, axis), 2 * (coarse.extent_[axis] - 3)) + 3;
  coefficients_ = Buffer<float>(ctx, 3 * extent_.count(), Planes{3});
  const int inner = inner_of(extent_, axis), outer = 3 * outer_of(extent_, axis);
  for_each_voxel(ctx, Extent{inner, extent_[axis], outer},
                 RefineAxisBody{coarse.coefficients_.data(), coefficients_.data(),
                                coarse.extent_[axis], extent_[axis], inner});
}

void ControlPointGrid::interpolate(Context& ctx, const DisplacementField& u) {
  require_on_device(ctx, *this, u);
  Geometry points = fixed_;
  points.extent = extent_;
  points.spacing = spacing_;
  points.origin -= fixed_.direction * spacing_;
  const Eigen::Affine3d to_source = u.geometry().world_to_index() * points.index_to_world();
  Eigen::Affine3d to_mm = Eigen::Affine3d::Identity();
  to_mm.linear() = spacing_.asDiagonal() * to_source.linear().inverse();
  for_each_voxel(ctx, extent_,
                 ResampleFieldBody{u.view(), view(), to_point_map(to_source), to_point_map(to_mm)});
  for (int c = 0; c < 3; ++c) bspline_prefilter(ctx, view().plane(c));
}

ControlPointGrid ControlPointGrid::refined(Context& ctx, const std::array<bool, 3>& axes) const {
  require_on_device(ctx, *this);
  ControlPointGrid grid;
  grid.fixed_ = fixed_;
  grid.spacing_ = spacing_;
  grid.margin_ = margin_;
  grid.extent_ = extent_;
  grid.coefficients_ = coefficients_.clone(ctx);
  for (int a = 0; a < 3; ++a)
    if (axes[a]) grid = ControlPointGrid(ctx, grid, a);
  return grid;
}

SplineSampler::SplineSampler(Context& ctx, const ControlPointGrid& lattice, const Geometry& grid,
                             bool in_slabs)
    : lattice_(lattice.extent()), grid_(grid.extent) {
  const Eigen::Vector3d offset = lattice_offset(lattice, grid);
  std::vector<Context> parts = ctx.parts();
  tables_.resize(parts.size());
  for (int a = 0; a < 3; ++a) {
    voxels_per_mm_[a] = float(1 / grid.spacing[a]);
    const int n = grid.extent[a], coefficients = lattice_[a];
    std::vector<int> first(n), begin(coefficients + 4);
    std::vector<float> weights(4 * std::size_t(n));
    for (int i = 0; i < n; ++i) {
      const double knot = (offset[a] + i * grid.spacing[a]) / lattice.spacing_mm()[a];
      first[i] = std::clamp(int(std::floor(knot)), 0, coefficients - 4);
      double w[4];
      bspline_weights(knot - first[i], w);
      for (int k = 0; k < 4; ++k) weights[4 * i + k] = float(w[k]);
    }
    for (int j = 0; j < coefficients + 4; ++j)
      begin[j] = int(std::lower_bound(first.begin(), first.end(), j - 3) - first.begin());
    for (Context& part : parts)
      tables_[std::size_t(part.gpu())][std::size_t(a)] = {
          Buffer<int>(part, first), Buffer<int>(part, begin), Buffer<float>(part, weights)};
    if (a == 2) first_slices_ = std::move(first);
  }
  const Extent after_x{grid_.x, lattice_.y, lattice_.z}, after_y{grid_.x, grid_.y, lattice_.z};
  after_x_ = Buffer<float>(ctx, 3 * after_x.count(), Planes{3});
  after_y_ = Buffer<float>(ctx, 3 * after_y.count(), Planes{3});
  if (in_slabs) gathered_ = Buffer<float>(ctx, after_y_.size(), Planes{3});
}

AxisTaps SplineSampler::taps(const Context& ctx, int axis) const {
  const Tables& t = tables_[std::size_t(ctx.gpu())][std::size_t(axis)];
  return {t.first.data(), t.begin.data(), t.weights.data()};
}

void SplineSampler::evaluate(Context& ctx, FieldView<const float> coefficients,
                             FieldView<float> u) const {
  require(u.extent == grid_, "the spline sampler was built for another grid");
  take(ctx, coefficients);
  evaluate_slices(ctx, 0, u);
}

void SplineSampler::take(Context& ctx, FieldView<const float> coefficients) const {
  require(coefficients.extent == lattice_, "the spline sampler was built for another lattice");
  const Vec3f one{1, 1, 1};
  const Extent c = lattice_, g = grid_;
  for_each_voxel(ctx, Extent{g.x, 1, 3 * c.y * c.z},
                 InterpolateAlongXBody{{coefficients.data, after_x_.data(), taps(ctx, 0), c.x, g.x,
                                        1, c.y * c.z, one}});
  for_each_voxel(
      ctx, Extent{g.x, g.y, 3 * c.z},
      InterpolateAxisBody{after_x_.data(), after_y_.data(), taps(ctx, 1), c.y, g.y, g.x, c.z, one});
}

void SplineSampler::evaluate_slices(Context& ctx, int first, FieldView<float> u) const {
  const Extent g = grid_;
  require(u.extent.x == g.x && u.extent.y == g.y && first >= 0 && first + u.extent.z <= g.z,
          "the slices do not lie on the spline sampler's grid");
  const Vec3f scale{voxels_per_mm_[0], voxels_per_mm_[1], voxels_per_mm_[2]};
  AxisTaps of_slab = taps(ctx, 2);
  of_slab.first += first;
  of_slab.weights += 4 * std::ptrdiff_t(first);
  for_each_voxel(ctx, Extent{g.x * g.y, u.extent.z, 3},
                 InterpolateAxisBody{after_y_.data(), u.data, of_slab, lattice_.z, u.extent.z,
                                     g.x * g.y, 1, scale});
}

namespace {

/// The CPU walks whole rows instead of columns: the same sums in the same order, vectorised along
/// the row.
void gather_axis(backend::Cpu cpu, Extent extent, const GatherAxisBody& b) {
  constexpr int block = 1024;
  const int blocks = (extent.x + block - 1) / block, rows = extent.y * extent.z;
#pragma omp parallel for schedule(dynamic, 8) num_threads(cpu.threads) if (blocks * rows >= 64)
  for (int task = 0; task < blocks * rows; ++task) {
    const int j = task / blocks % extent.y, outer = task / blocks / extent.y,
              x0 = task % blocks * block;
    const int n = std::min(block, extent.x - x0), begin = b.taps.begin[j],
              end = b.taps.begin[j + 4];
    const int component = outer / b.outer_per_component;
    const float scale = component == 0 ? b.scale.x : component == 1 ? b.scale.y : b.scale.z;
    float sum[block] = {};
    for (int i = begin; i < end; ++i) {
      const float w = b.taps.weights[4 * i + j - b.taps.first[i]];
      const float* v = b.in + (std::size_t(outer) * b.in_size + i) * b.inner + x0;
      for (int x = 0; x < n; ++x) sum[x] = fma_(w, v[x], sum[x]);
    }
    float* out = b.out + (std::size_t(outer) * b.out_size + j) * b.inner + x0;
    for (int x = 0; x < n; ++x) out[x] = scale * sum[x];
  }
}

template <class Body>
void gather_axis(backend::Cuda cuda, Extent extent, const Body& body) {
  for_each_voxel(cuda, extent, body);
}

}  // namespace

void SplineSampler::gather_along_yx(Context& ctx, const float* along_z,
                                    FieldView<float> out) const {
  require(out.extent == lattice_, "the spline sampler was built for another lattice");
  const Vec3f one{1, 1, 1}, scale{voxels_per_mm_[0], voxels_per_mm_[1], voxels_per_mm_[2]};
  const Extent c = lattice_, g = grid_;
  backend::dispatch(ctx, [&](auto target) {
    gather_axis(target, Extent{g.x, c.y, 3 * c.z},
                GatherAxisBody{along_z, after_x_.data(), taps(ctx, 1), g.y, c.y, g.x, c.z, one});
  });
  for_each_voxel(
      ctx, Extent{c.x, 1, 3 * c.y * c.z},
      GatherAlongXBody{{after_x_.data(), out.data, taps(ctx, 0), g.x, c.x, 1, c.y * c.z, scale}});
}

void SplineSampler::adjoint(Context& ctx, FieldView<const float> per_voxel,
                            FieldView<float> per_coefficient) const {
  require(per_voxel.extent == grid_, "the spline sampler was built for another grid");
  const Extent c = lattice_, g = grid_;
  backend::dispatch(ctx, [&](auto target) {
    gather_axis(target, Extent{g.x * g.y, c.z, 3},
                GatherAxisBody{per_voxel.data, after_y_.data(), taps(ctx, 2), g.z, c.z, g.x * g.y,
                               1, Vec3f{1, 1, 1}});
  });
  gather_along_yx(ctx, after_y_.data(), per_coefficient);
}

void SplineSampler::begin_adjoint(Context& ctx) const {
  require(gathered_.size() > 0, "the spline sampler was not built for slabs");
  ctx.fill_zero(gathered_.data(), gathered_.size() * sizeof(float));
}

int SplineSampler::reaching_before(int control_slice) const {
  return int(std::lower_bound(first_slices_.begin(), first_slices_.end(), control_slice) -
             first_slices_.begin());
}

void SplineSampler::gather_slices(Context& ctx, int first, FieldView<const float> per_voxel,
                                  int from, int to) const {
  const Extent n = per_voxel.extent;
  require(gathered_.size() > 0, "the spline sampler was not built for slabs");
  require(n.x == grid_.x && n.y == grid_.y && first >= 0 && first + n.z <= grid_.z,
          "the slices do not lie on the spline sampler's grid");
  from = std::max(from, first_slices_[first]);
  to = std::min(to, reached_before(first + n.z));
  if (from >= to) return;
  for_each_voxel(ctx, Extent{n.x * n.y, 3, to - from},
                 GatherSlicesBody{per_voxel.data, gathered_.data(), taps(ctx, 2), first, n.z, from,
                                  lattice_.z, n.x * n.y});
}

void SplineSampler::finish_adjoint(Context& ctx, FieldView<float> per_coefficient) const {
  gather_along_yx(ctx, gathered_.data(), per_coefficient);
}

Volume<float> spline_jacobian(Context& ctx, const ControlPointGrid& lattice, const Geometry& grid) {
  require_on_device(ctx, lattice);
  const Eigen::Vector3d offset = lattice_offset(lattice, grid).cwiseQuotient(lattice.spacing_mm());
  const Eigen::Vector3d step = grid.spacing.cwiseQuotient(lattice.spacing_mm()),
                        knots = lattice.spacing_mm().cwiseInverse();
  const auto floats = [](const Eigen::Vector3d& v) {
    return Vec3f{float(v.x()), float(v.y()), float(v.z())};
  };
  Volume<float> out(ctx, grid);
  for_each_voxel(
      ctx, grid.extent,
      SplineJacobianBody{lattice.view(), floats(offset), floats(step), floats(knots), out.view()});
  return out;
}

}  // namespace freeflow
