// Private: which of many displacements fits each cell of a coarse grid best while its neighbours
// move alike: the cost volume of self-similarity descriptors and the coupled convex iteration of
// Heinrich, Papiez, Schnabel and Handels ("Non-parametric discrete registration with convex
// optimisation", WBIR 2014, equations 2 to 4). In turn every cell takes the displacement d of the
// least cost(d) + w |d - s|^2, and s becomes the mean of d over a cell and its neighbours, while w
// grows.
//
// The cost is the mean square of the descriptors' differences over eight voxels of the cell. What
// has no counterpart, beyond an image or its mask, counts as the mean of the cell's costs. Memory:
// two bytes per cell and displacement.
#pragma once

#include <vector>

#include <freeflow/core/reduce.h>
#include <freeflow/deform/displacement_field.h>
#include <freeflow/registration/search/displacement_search_body.h>

namespace freeflow {

/// Both images' descriptors on one grid. The cells' first voxel lies `margin` voxels inside it.
struct SearchImages {
  VolumeView<const MindRecord> fixed, moving;
  int margin[3];
  Eigen::Vector3d voxel_mm;
  SearchImages swapped() const {
    return {moving, fixed, {margin[0], margin[1], margin[2]}, voxel_mm};
  }
};

class DisplacementSearch {
 public:
  /// Cells of `width` voxels, 2 or 4. Allocates; running allocates three small fields.
  DisplacementSearch(Context& ctx, const Geometry& cells, int width, const SearchWindow& window);

  /// weights: w, a round each, in parts of the mean contrast (a cell's mean cost less its least)
  /// per squared step. The result is s, in voxels of the descriptors' grid, on the cells' grid.
  DisplacementField run(Context& ctx, const SearchImages& images,
                        const std::vector<double>& weights) const;
  /// The same about a displacement on the cells' grid (those voxels again), which is the first s.
  DisplacementField refine(Context& ctx, const SearchImages& images,
                           const std::vector<double>& weights, DisplacementField about) const;

 private:
  void compute_costs(Context& ctx, const SearchImages& images, const float* middle) const;
  DisplacementField iterate(Context& ctx, const SearchImages& images,
                            const std::vector<double>& weights, const float* middle,
                            DisplacementField smooth) const;

  Geometry cells_;
  int width_;
  SearchWindow window_;
  Buffer<std::uint16_t> costs_;
  Buffer<std::uint32_t> levels_;
  Buffer<double> sums_;
  ReduceWorkspace work_;
};

}  // namespace freeflow
