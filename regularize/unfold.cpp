#include <freeflow/regularize/unfold.h>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/regularize/smoother.h>
#include <freeflow/regularize/unfold_body.h>

namespace freeflow {

UnfoldResult unfold(Context& ctx, ControlPointGrid& lattice, DisplacementField& u,
                    const UnfoldOptions& options, const StopRequest& stop) {
  require_on_device(ctx, lattice, u);
  const Geometry& grid = u.geometry();
  const SplineSampler sampler(ctx, lattice, grid);
  DisplacementField indicator(ctx, grid);
  Buffer<float> flagged(ctx, lattice.coefficients().size()),
      smoothed(ctx, lattice.coefficients().size());
  const FieldView<float> flags{flagged.data(), lattice.extent()};
  const ReduceWorkspace work(ctx, grid.extent.count(), 1);
  Buffer<double> count(ctx, 1);
  UnfoldResult result;
  for (;; ++result.rounds) {
    sampler.evaluate(ctx, lattice.view(), u.view());
    for_each_voxel(ctx, grid.extent,
                   FoldIndicatorBody{u.view(), indicator.view(), 3, float(options.bound)});
    reduce(ctx, grid.extent.count(), 1, FoldCountBody{{}, indicator.view().data}, work,
           count.data());
    result.voxels_after = std::size_t(count.to_host(ctx)[0]);
    if (result.rounds == 0) result.voxels_before = result.voxels_after;
    if (result.voxels_after == 0 || result.rounds == options.max_rounds) return result;
    stop_if(stop);
    sampler.adjoint(ctx, indicator.view(), flags);
    for_each_voxel(
        ctx, lattice.extent(),
        SmoothFlaggedBody{lattice.view(), flags.plane(0), {smoothed.data(), lattice.extent()}});
    std::swap(lattice.coefficients(), smoothed);
  }
}

UnfoldResult unfold(Context& ctx, DisplacementField& u, const UnfoldOptions& options,
                    const StopRequest& stop) {
  require_on_device(ctx, u);
  constexpr int passes = 4;  // between two looks for folds, which cost as much as all of them
  const Geometry& grid = u.geometry();
  DisplacementField spare(ctx, grid);
  Volume<float> indicator(ctx, grid), reached(ctx, grid);
  const GaussianFilter widen(ctx, grid.extent, Eigen::Vector3d::Ones(),
                             Smoother::separable);  // positive within four voxels
  const ReduceWorkspace work(ctx, grid.extent.count(), 1);
  const Buffer<double> count(ctx, 1);
  UnfoldResult result;
  for (;; ++result.rounds) {
    for_each_voxel(
        ctx, grid.extent,
        FoldIndicatorBody{u.view(), {indicator.view().data, grid.extent}, 1, float(options.bound)});
    reduce(ctx, grid.extent.count(), 1, FoldCountBody{{}, indicator.view().data}, work,
           count.data());
    result.voxels_after = std::size_t(count.to_host(ctx)[0]);
    if (result.rounds == 0) result.voxels_before = result.voxels_after;
    if (result.voxels_after == 0 || result.rounds == options.max_rounds) return result;
    stop_if(stop);
    widen.apply(ctx, indicator.view(), reached.view());
    for (int pass = 0; pass < passes; ++pass) {
      for_each_voxel(ctx, grid.extent, SmoothFlaggedBody{u.view(), reached.view(), spare.view()});
      std::swap(u, spare);
    }
  }
}

}  // namespace freeflow
