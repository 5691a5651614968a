// Private: which of many displacements fits each cell of a coarse grid best while its neighbours
// move alike: the cost volume of self-similarity descriptors and the coupled convex iteration of
// Heinrich, Papiez, Schnabel and Handels ("Non-parametric discrete registration with convex
// optimisation", WBIR 2014, equations 2 to 4). In turn every cell takes the displacement d of the
// least cost(d) + w |d - s|^2, and s becomes the mean of d over a cell and its neighbours, while w
// grows.
//
// The cost is the mean square of the descriptors' differences over eight voxels of the cell; of
// several channels their weighted mean. What
// has no counterpart, beyond an image or its mask, counts as the mean of the cell's costs. Memory:
// two bytes per cell and displacement, four where there are several channels.
#pragma once

#include <utility>
#include <vector>

#include <freeflow/core/reduce.h>
#include <freeflow/deform/displacement_field.h>
#include <freeflow/registration/search/displacement_search_body.h>

namespace freeflow {

/// Both images' descriptors, of one channel, and its weight.
struct SearchChannel {
  VolumeView<const MindRecord> fixed, moving;
  double weight;
};

/// All on one grid. The cells' first voxel lies `margin` voxels inside it.
struct SearchImages {
  std::vector<SearchChannel> channels;
  int margin[3];
  Eigen::Vector3d voxel_mm;
  SearchImages swapped() const {
    SearchImages other = *this;
    for (SearchChannel& c : other.channels) std::swap(c.fixed, c.moving);
    return other;
  }
};

class DisplacementSearch {
 public:
  /// Cells of `width` voxels, 2 or 4. Allocates; running allocates three small fields.
  DisplacementSearch(Context& ctx, const Geometry& cells, int width, const SearchWindow& window,
                     std::size_t channels);

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
  Buffer<std::uint16_t> costs_, further_;  // further_: of a channel after the first
  Buffer<std::uint32_t> levels_;
  Buffer<double> sums_;
  ReduceWorkspace work_;
};

}  // namespace freeflow
