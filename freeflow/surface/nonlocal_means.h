// Level-set based nonlocal-means denoising of a closed surface (Dong et al. 2008; Lee et al. 2012, section 2.3). phi is the signed
// distance, in units of the mean voxel side (cube root of a voxel's volume).
//   1. The narrow band |phi| <= delta (eq. 14) and the patch of n^3 voxels around each of its elements.
//   2. For each element x its m most similar ones y of the whole band and their weights w_xy = exp(-|x - y|^2 / c1) exp(-D(x, y) / c2),
//   eq. 15.
//   3. K steps phi_x += dt sum_y w_xy (phi_y - phi_x), dt = 1 / max sum_y w_xy, eq. 16.
//   4. phi is shifted by a constant so that its mean change beside the surface, |phi| <= 1 at the start, is 0: the volume stays, to first
//   order.
//      With all weights eq. 16 is symmetric and keeps the sum of phi; the m best alone are not, and let convex bodies shrink.
//   5. phi becomes a signed distance again.
// The same bits on every device and for every strategy and number of threads. Beyond the grid the nearest voxel counts.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <freeflow/core/volume.h>
#include <freeflow/surface/patch_search/patch_search.h>

namespace freeflow {

struct NonlocalMeansOptions {
  double band = 3;                      ///< delta; at least the longest side of a voxel is taken
  int patch = 5;                        ///< n, odd, 3 to 9
  int neighbours = 96;                  ///< m, 1 to 256
  int iterations = 10;                  ///< K
  std::optional<double> c1;             ///< squared mean sides; none: similarity alone weighs
  std::optional<double> c2;             ///< squared mean sides; none: 0.12 n^3, the square of a third of a voxel per value
  std::optional<double> limit;          ///< mean sides that phi, and so the surface, moves at most; none: as far as it likes
  std::optional<double> search_radius;  ///< mean sides; none: the whole band
  bool keep_volume = true;              ///< step 4
  SearchStrategy strategy = SearchStrategy::automatic;
  /// Device memory that the neighbours may take; more are kept in host memory, in slabs. 0: three quarters of what is free.
  std::size_t memory_bytes = 0;

  /// Throws InvalidArgument.
  void validate() const;
};

/// What the search and the steps report; all members may stay as they are.
struct NonlocalMeansObserver {
  virtual ~NonlocalMeansObserver() = default;
  /// The band is known: its elements, the device memory that is predicted, the slabs its neighbours are kept in.
  virtual void on_band(int /*elements*/, std::size_t /*bytes*/, int /*slabs*/) {}
  /// `share` of the search is done.
  virtual void on_search(double /*share*/) {}
  virtual void on_iteration(int /*iteration*/, int /*iterations*/) {}
  /// Asked at each of these calls; true ends the work with Cancelled.
  virtual bool stop_requested() { return false; }
};

struct NonlocalMeansResult {
  Volume<float> distance;   ///< signed, mm, negative inside
  Volume<float> level_set;  ///< phi of step 4, mm: not quite a distance, but its zero has not been resampled
  int band_elements = 0;
  double band_mm = 0;
  double c2 = 0, time_step = 0;
  double shift_mm = 0;                           ///< of step 4
  double mean_change_mm = 0, max_change_mm = 0;  ///< of phi in the band, before it becomes a distance again
  std::size_t predicted_bytes = 0;
  int slabs = 1;
  double search_seconds = 0, iteration_seconds = 0, distance_seconds = 0;
};

/// `distance`: signed, mm, negative inside; exact near the surface at least. Throws InvalidArgument (options, an empty band, a patch larger
/// than the volume, a band of fewer elements than neighbours), RegistrationError when no surface is left, Cancelled.
NonlocalMeansResult nonlocal_means(Context& ctx, const Volume<float>& distance, const NonlocalMeansOptions& options,
                                   NonlocalMeansObserver* observer = nullptr);

}  // namespace freeflow
