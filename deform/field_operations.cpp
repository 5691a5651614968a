#include <freeflow/deform/field_operations.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/field_operations_body.h>
#include <freeflow/deform/row_cells.h>

namespace freeflow {

namespace {

/// On the CPU, along a piece of a row: take(c, i, component c of v where voxel i goes by u).
template <class Take>
void sample_where_u_leads(FieldView<const float> u, FieldView<const float> v, int x, int y, int z,
                          int count, const Take& take) {
  const std::size_t plane = u.extent.count();
  const float* const d = u.data + u.extent.offset(x, y, z);
  RowCells cells;
  cells.locate(v.extent, count, [&](int i) {
    return Vec3f{float(x + i) + d[i], float(y) + d[i + plane], float(z) + d[i + 2 * plane]};
  });
  for (int c = 0; c < 3; ++c) {
    cells.fetch(v.plane(c).data);
#pragma GCC ivdep
    for (int i = 0; i < count; ++i) take(c, i, cells.clamped(i));
  }
}

/// Along a piece of a row: write(i, whether it has a meaning, residual).
template <class Write>
void for_residuals(const InverseResidualBody& body, int x, int y, int z, int count,
                   const Write& write) {
  const std::size_t plane = body.u.extent.count();
  const float* const d = body.u.data + body.u.extent.offset(x, y, z);
  float r[3][RowCells::longest];
  sample_where_u_leads(body.u, body.v, x, y, z, count,
                       [&](int c, int i, float v) { r[c][i] = d[i + c * plane] + v; });
#pragma GCC ivdep
  for (int i = 0; i < count; ++i) {
    const Vec3f p{float(x + i) + d[i], float(y) + d[i + plane], float(z) + d[i + 2 * plane]};
    const float at[3] = {r[0][i], r[1][i], r[2][i]};
    write(i, InverseResidualBody::inside(p, body.u.extent), at);
  }
}

}  // namespace

// The CPU samples whole rows: row_cells.h.
template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const ComposeBody& body) {
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    const ComposeBody local = body;
    const std::size_t plane = extent.count(), first = extent.offset(x, y, z);
    const float* const d = local.u.data + first;
    float* const out = local.out.data + first;
    sample_where_u_leads(local.u, local.v, x, y, z, n, [&](int c, int i, float v) {
      out[i + c * plane] = fma_(local.a, d[i + c * plane], local.b * v);
    });
  });
}

template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const ResampleFieldBody& body) {
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    const ResampleFieldBody local = body;
    const std::size_t first = extent.offset(x, y, z);
    float d[3][RowCells::longest];
    RowCells cells;
    cells.locate(local.u.extent, n, [&](int i) {
      return map_point(local.to_source, float(x + i), float(y), float(z));
    });
    for (int c = 0; c < 3; ++c) {
      cells.fetch(local.u.plane(c).data);
#pragma GCC ivdep
      for (int i = 0; i < n; ++i) d[c][i] = cells.clamped(i);
    }
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) local.write(first + i, {d[0][i], d[1][i], d[2][i]});
  });
}

template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const InverseResidualFieldBody& body) {
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    const std::size_t plane = extent.count();
    float* const out = body.residual.data + extent.offset(x, y, z);
    for_residuals(body.body, x, y, z, n, [&](int i, bool inside, const float r[3]) {
      for (int c = 0; c < 3; ++c) out[i + c * plane] = inside ? r[c] : 0.0f;
    });
  });
}

template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const InverseResidualLengthBody& body) {
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    float* const out = &body.length(x, y, z);
    for_residuals(body.body, x, y, z, n, [&](int i, bool inside, const float r[3]) {
      out[i] = InverseResidualLengthBody::of(inside, r);
    });
  });
}

template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const InverseCorrectionBody& body) {
  for_each_piece(cpu, extent, RowCells::longest, [&](int x, int y, int z, int n) {
    const std::size_t plane = extent.count();
    float* const v = body.v.data + extent.offset(x, y, z);
    sample_where_u_leads(body.v, body.residual, x, y, z, n,
                         [&](int c, int i, float r) { v[i + c * plane] -= r; });
  });
}

DisplacementField compose(Context& ctx, const DisplacementField& first,
                          const DisplacementField& second) {
  require_on_device(ctx, first, second);
  require(same_grid(first.geometry(), second.geometry()),
          "the two displacement fields do not share a grid");
  first.geometry().validate("the grid of the displacement fields");
  DisplacementField out(ctx, first.geometry());
  for_each_voxel(ctx, out.extent(),
                 ComposeBody{first.view(), second.view(), out.view(), 1.0f, 1.0f});
  return out;
}

void exponential(Context& ctx, FieldView<const float> v, FieldView<float> u, FieldView<float> spare,
                 int squarings, double time) {
  require(squarings >= 0 && squarings <= 30, "the number of squarings must lie between 0 and 30");
  FieldView<float> now = squarings % 2 ? spare : u, next = squarings % 2 ? u : spare;
  for_each_voxel(ctx, v.extent, ScaleFieldBody{v, now, float(time) / float(1 << squarings)});
  for (int k = 0; k < squarings; ++k) {
    for_each_voxel(ctx, v.extent, ComposeBody{now, now, next, 1.0f, 1.0f});
    std::swap(now, next);
  }
}

DisplacementField exponential(Context& ctx, const DisplacementField& v, int squarings,
                              double time) {
  require_on_device(ctx, v);
  v.geometry().validate("the velocity's grid");
  DisplacementField u(ctx, v.geometry()), spare(ctx, v.geometry());
  exponential(ctx, v.view(), u.view(), spare.view(), squarings, time);
  return u;
}

InverseResidual inverse_residual(Context& ctx, const DisplacementField& u,
                                 const DisplacementField& v) {
  require_on_device(ctx, u, v);
  require(same_grid(u.geometry(), v.geometry()), "the field and its inverse do not share a grid");
  u.geometry().validate("the displacement field");
  const std::size_t n = u.extent().count();
  const ReduceWorkspace work(ctx, n, 2);
  Buffer<double> scalars(ctx, 3);
  Volume<float> lengths(ctx, u.geometry());
  const float* const length = lengths.view().data;
  for_each_voxel(ctx, u.extent(), InverseResidualLengthBody{{u.view(), v.view()}, lengths.view()});
  reduce(ctx, n, 2, InverseResidualSumBody{{}, length}, work, scalars.data());
  reduce(ctx, n, 1, InverseResidualMaxBody{{}, length}, work, scalars.data() + 2);
  const std::vector<double> s = scalars.to_host(ctx);
  return {s[1] > 0 ? s[0] / s[1] : 0.0, s[2]};
}

Inverse invert(Context& ctx, const DisplacementField& u, const InverseOptions& options,
               const StopRequest& stop) {
  require_on_device(ctx, u);
  u.geometry().validate("the displacement field");
  Inverse inverse{DisplacementField(ctx, u.geometry()), {}};
  const Extent n = u.extent();
  // A sweep of the CPU takes long enough for somebody to want it stopped, so it goes by slabs.
  const int slices = ctx.device().is_cuda()
                         ? n.z
                         : std::max(1, int((std::size_t(1) << 18) / (std::size_t(n.x) * n.y)));
  for (int first = 0; first < n.z; first += slices) {
    stop_if(stop);
    for_each_voxel(ctx, Extent{n.x, n.y, std::min(slices, n.z - first)},
                   InvertBody{u.view(), inverse.field.view(), options.max_iterations,
                              float(options.tolerance_voxels), first});
  }
  if (options.corrections > 0) {
    DisplacementField residual(ctx, u.geometry());
    for (int k = 0; k < options.corrections; ++k) {
      stop_if(stop);
      for_each_voxel(ctx, u.extent(),
                     InverseResidualFieldBody{{u.view(), inverse.field.view()}, residual.view()});
      for_each_voxel(ctx, u.extent(), InverseCorrectionBody{residual.view(), inverse.field.view()});
    }
  }
  inverse.residual = inverse_residual(ctx, u, inverse.field);
  return inverse;
}

Volume<float> jacobian_determinant(Context& ctx, const DisplacementField& u) {
  require_on_device(ctx, u);
  u.geometry().validate("the displacement field");
  Volume<float> jacobian(ctx, u.geometry());
  for_each_voxel(ctx, u.extent(), JacobianBody{u.view(), jacobian.view()});
  return jacobian;
}

JacobianStatistics jacobian_statistics(Context& ctx, const DisplacementField& u) {
  Volume<float> jacobian = jacobian_determinant(ctx, u);
  const std::size_t n = u.extent().count();
  const float* data = std::as_const(jacobian).view().data;
  const ReduceWorkspace work(ctx, n, 3);
  Buffer<double> scalars(ctx, 7);
  reduce(ctx, n, 3, JacobianSumBody{{}, data}, work, scalars.data());
  reduce(ctx, n, 2, JacobianRangeBody{{}, data}, work, scalars.data() + 3);
  for_each_voxel(ctx, u.extent(), CornerJacobianBody{u.view(), jacobian.view()});
  reduce(ctx, n, 1, JacobianRangeBody{{}, data}, work, scalars.data() + 5);
  reduce(ctx, n, 1, FoldedSumBody{{}, data}, work, scalars.data() + 6);
  const std::vector<double> s = scalars.to_host(ctx);
  JacobianStatistics statistics;
  const double positive = double(n) - s[0];
  if (positive > 0) {
    statistics.mean_log = s[1] / positive;
    statistics.sd_log =
        std::sqrt(std::max(0.0, s[2] / positive - statistics.mean_log * statistics.mean_log));
  }
  statistics.min = JacobianRangeBody::offset - s[3];
  statistics.max = s[4] - JacobianRangeBody::offset;
  statistics.corner_min = JacobianRangeBody::offset - s[5];
  statistics.folded_voxels = std::size_t(s[6]);
  return statistics;
}

DisplacementField resample(Context& ctx, const DisplacementField& u, const Geometry& grid) {
  require_on_device(ctx, u);
  u.geometry().validate("the displacement field");
  grid.validate("the grid to resample to");
  const Geometry& own = u.geometry();
  if (own.extent == grid.extent && own.spacing == grid.spacing && own.origin == grid.origin &&
      own.direction == grid.direction)
    return u.clone(ctx);
  DisplacementField out(ctx, grid);
  const Eigen::Affine3d to_source = u.geometry().world_to_index() * grid.index_to_world();
  Eigen::Affine3d vectors = Eigen::Affine3d::Identity();
  vectors.linear() = to_source.linear().inverse();
  for_each_voxel(
      ctx, grid.extent,
      ResampleFieldBody{u.view(), out.view(), to_point_map(to_source), to_point_map(vectors)});
  return out;
}

}  // namespace freeflow
