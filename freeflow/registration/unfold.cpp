#include <freeflow/registration/unfold.h>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/registration/unfold_body.h>
#include <freeflow/regularize/smoother.h>

namespace freeflow {

UnfoldResult unfold(Context& ctx, ControlPointGrid& lattice, DisplacementField& u, double bound, int max_rounds) {
  const Geometry& grid = u.geometry();
  const SplineSampler sampler(ctx, lattice, grid);
  DisplacementField indicator(ctx, grid);
  Buffer<float> flagged(ctx, lattice.coefficients().size()), smoothed(ctx, lattice.coefficients().size());
  const FieldView<float> flags{flagged.data(), lattice.extent()};
  const ReduceWorkspace work(ctx, grid.extent.count(), 1);
  Buffer<double> count(ctx, 1);
  UnfoldResult result;
  for (;; ++result.rounds) {
    sampler.evaluate(ctx, lattice.view(), u.view());
    for_each_voxel(ctx, grid.extent, FoldIndicatorBody{u.view(), indicator.view(), float(bound)});
    reduce(ctx, grid.extent.count(), 1, FoldCountBody{{}, indicator.view().data}, work, count.data());
    result.voxels_after = std::size_t(count.to_host(ctx)[0]);
    if (result.rounds == 0) result.voxels_before = result.voxels_after;
    if (result.voxels_after == 0 || result.rounds == max_rounds) return result;
    sampler.adjoint(ctx, indicator.view(), flags);
    for_each_voxel(ctx, lattice.extent(), SmoothFlaggedBody{lattice.view(), flags, {smoothed.data(), lattice.extent()}});
    std::swap(lattice.coefficients(), smoothed);
  }
}

UnfoldResult unfold(Context& ctx, DisplacementField& u, double bound, int max_rounds) {
  const Geometry& grid = u.geometry();
  DisplacementField indicator(ctx, grid), spare(ctx, grid);
  const GaussianFilter widen(ctx, grid.extent, Eigen::Vector3d::Ones(), Smoother::separable);  // positive within four voxels
  const ReduceWorkspace work(ctx, grid.extent.count(), 1);
  const Buffer<double> count(ctx, 1);
  UnfoldResult result;
  for (;; ++result.rounds) {
    for_each_voxel(ctx, grid.extent, FoldIndicatorBody{u.view(), indicator.view(), float(bound)});
    reduce(ctx, grid.extent.count(), 1, FoldCountBody{{}, indicator.view().data}, work, count.data());
    result.voxels_after = std::size_t(count.to_host(ctx)[0]);
    if (result.rounds == 0) result.voxels_before = result.voxels_after;
    if (result.voxels_after == 0 || result.rounds == max_rounds) return result;
    widen.apply(ctx, indicator.view(), spare.view());
    for_each_voxel(ctx, grid.extent, SmoothFlaggedBody{u.view(), spare.view(), indicator.view()});
    std::swap(u, indicator);
  }
}

}  // namespace freeflow
