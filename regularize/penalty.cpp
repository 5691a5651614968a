#include <freeflow/regularize/penalty.h>

#include <algorithm>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/regularize/penalty_body.h>

namespace freeflow {

namespace {
double inner_nodes(Extent n) { return std::max(1.0, double(n.x - 2) * (n.y - 2) * (n.z - 2)); }
}  // namespace

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
