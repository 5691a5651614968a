#include <freeflow/regularize/penalty.h>

#include <algorithm>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/row_cells.h>
#include <freeflow/regularize/penalty_body.h>

namespace freeflow {

namespace {
double inner_nodes(Extent n) { return std::max(1.0, double(n.x - 2) * (n.y - 2) * (n.z - 2)); }

/// Adds to sum what the nodes of one row give the coefficients [begin, end) of another, `dy` and
/// `dz` before it; of one component, whose three planes of cofactors begin at `of_row` there.
void add_nodes(const float* of_row, std::size_t plane, int dy, int dz, int begin, int end,
               float* sum) {
  const float by = node::weight(0, dy), bz = node::weight(0, dz), ty = node::weight(1, -dy),
              tz = node::weight(1, -dz);
  float w[3][3];  // offset along x, axis of the derivative
  for (int dx = -1; dx <= 1; ++dx) {
    const float bx = node::weight(0, dx);
    w[dx + 1][0] = node::weight(1, -dx) * by * bz;
    w[dx + 1][1] = bx * ty * bz;
    w[dx + 1][2] = bx * by * tz;
  }
#pragma GCC ivdep
  for (int x = begin; x < end; ++x) {
    float s = sum[x - begin];
    for (int dx = 0; dx < 3; ++dx)
      for (int a = 0; a < 3; ++a) s = fma_(w[dx][a], of_row[a * plane + x + dx - 1], s);
    sum[x - begin] = s;
  }
}

}  // namespace

/// The CPU walks pieces of rows: the same sums in the same order, vectorised along the row. Next to
/// the border along x, where a coefficient reaches fewer nodes, the body itself does.
template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const LogJacobianForceBody& body) {
  constexpr int longest = 256;
  for_each_piece(cpu, extent, longest, [&](int first, int y, int z, int count) {
    const LogJacobianForceBody b = body;
    const Extent n = b.force.extent;
    const int begin = std::clamp(2, first, first + count),
              end = std::clamp(n.x - 2, begin, first + count);
    for (int x = first; x < begin; ++x) b(x, y, z);
    for (int x = end; x < first + count; ++x) b(x, y, z);
    for (int c = 0; c < 3; ++c) {
      float sum[longest] = {};
      for (int dz = -1; dz <= 1; ++dz)
        for (int dy = -1; dy <= 1; ++dy)
          if (node::is_inner(1, y + dy, z + dz, n))
            add_nodes(b.cofactors + 3 * c * n.count() + n.offset(0, y + dy, z + dz), n.count(), dy,
                      dz, begin, end, sum);
      float* const force = b.force.data + c * n.count() + n.offset(0, y, z);
      for (int x = begin; x < end; ++x) force[x] = fma_(b.factor, sum[x - begin], force[x]);
    }
  });
}

void BendingEnergy::prepare(Context& ctx, Extent lattice) {
  derivatives_ =
      Buffer<float>(ctx, 3 * bending::terms * lattice.count(), Planes{3 * bending::terms});
  work_ = ReduceWorkspace(ctx, derivatives_.size(), 1);
}

void BendingEnergy::add_force(Context& ctx, const LatticeView& lattice, float weight,
                              FieldView<float> force, double* value) {
  const double nodes = inner_nodes(lattice.coefficients.extent);
  for_each_voxel(ctx, force.extent,
                 BendingTermsBody{lattice.coefficients, lattice.spacing, derivatives_.data()});
  reduce(ctx, derivatives_.size(), 1, BendingValueBody{{}, derivatives_.data(), 1 / nodes}, work_,
         value);
  for_each_voxel(
      ctx, force.extent,
      BendingForceBody{derivatives_.data(), lattice.spacing, float(-2 * weight / nodes), force});
}

void LogJacobianPenalty::prepare(Context& ctx, Extent lattice) {
  cofactors_ = Buffer<float>(ctx, 9 * lattice.count(), Planes{9});
  node_values_ = Buffer<double>(ctx, lattice.count());
  work_ = ReduceWorkspace(ctx, lattice.count(), 1);
}

void LogJacobianPenalty::add_force(Context& ctx, const LatticeView& lattice, float weight,
                                   FieldView<float> force, double* value) {
  const double nodes = inner_nodes(lattice.coefficients.extent);
  for_each_voxel(ctx, force.extent,
                 LogJacobianTermsBody{lattice.coefficients, lattice.spacing, cofactors_.data(),
                                      node_values_.data()});
  reduce(ctx, node_values_.size(), 1, NodeMeanBody{{}, node_values_.data(), 1 / nodes}, work_,
         value);
  for_each_voxel(ctx, force.extent,
                 LogJacobianForceBody{cofactors_.data(), float(-weight / nodes), force});
}

void TotalVariation::prepare(Context& ctx, Extent lattice) {
  one_over_length_ = Buffer<float>(ctx, lattice.count());
  node_values_ = Buffer<double>(ctx, lattice.count());
  work_ = ReduceWorkspace(ctx, lattice.count(), 1);
}

void TotalVariation::add_force(Context& ctx, const LatticeView& lattice, float weight,
                               FieldView<float> force, double* value) {
  const double nodes = double(lattice.coefficients.extent.count());
  const ForwardDifferences difference{
      lattice.coefficients, {1 / lattice.spacing.x, 1 / lattice.spacing.y, 1 / lattice.spacing.z}};
  for_each_voxel(
      ctx, force.extent,
      TotalVariationTermsBody{difference, rounding, one_over_length_.data(), node_values_.data()});
  reduce(ctx, node_values_.size(), 1, NodeMeanBody{{}, node_values_.data(), 1 / nodes}, work_,
         value);
  for_each_voxel(
      ctx, force.extent,
      TotalVariationForceBody{difference, one_over_length_.data(), float(-weight / nodes), force});
}

}  // namespace freeflow
