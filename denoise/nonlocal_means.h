// Level-set based nonlocal-means denoising of a closed surface (Dong et al. 2008; Lee et al. 2012,
// section 2.3). phi is the signed distance, in units of the mean voxel side (cube root of a voxel's
// volume).
//   1. The narrow band |phi| <= delta (eq. 14) and the patch of n^3 voxels around each of its
//   elements.
//   2. For each element x its m most similar ones y of the whole band and their weights w_xy =
//   exp(-|x - y|^2 / c1) exp(-D(x, y) / c2),
//   eq. 15.
//   3. K steps phi_x += dt sum_y w_xy (phi_y - phi_x), dt = 1 / max sum_y w_xy, eq. 16.
//   4. phi is shifted by a constant so that its mean change beside the surface, |phi| <= 1 at the
//   start, is 3 s^2 times its mean there: the
//      volume stays, to first order. With all weights eq. 16 is symmetric and keeps the sum of phi;
//      the m best alone are not, and let
//      convex bodies shrink. s is the noise (below): of values p that carry noise its mean is -s^2
//      (log density of p)' (Tweedie's
//      formula); a density 1 + k phi, which grows outwards on convex bodies, has the mean k / 3 in
//      |phi| <= 1 and so a noise of -s^2 k
//      there.
//   5. phi becomes a signed distance again.
//   6. With a limit: where one of the surfaces before and after has a point on the grid's edges and
//   the other has none within the limit
//      (thin parts vanish, gaps fill), phi goes back to what it was beside that point, and where it
//      changed its sign up to limit + 1 from
//      there; this and step 5 until there is no new such point.
//
// Noise: s is the standard deviation of white noise in phi, in mean sides: the median size of its
// second differences along the three axes at once beside the surface, over 0.6745 6^(3/2). Smooth
// surfaces and straight edges hardly show in those, noise that neighbouring voxels share (a mask's
// staircase) little.
// c2 is, unless given, n^3 max(0.12, 1.5 s^2). Two patches that differ by noise alone are D = 2 n^3
// s^2 apart, so with c2 far below that the weights follow chance, and elements whose patches are
// rarer than the most common one, which sets dt, stand still. An average is the better for one more
// value as long as that is off by less than s, D = n^3 s^2 more; a c2 beyond 2 n^3 s^2 only adds
// such error. Of the range between the middle is taken. 0.12: a third of a voxel, for what the
// noise leaves out.
// The same bits on every device and for every strategy and number of threads. Beyond the grid the
// nearest voxel counts.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <freeflow/core/volume.h>
#include <freeflow/denoise/patch_search/patch_search.h>

namespace freeflow {

struct NonlocalMeansOptions {
  double band = 3;              ///< delta; at least the longest side of a voxel is taken
  int patch = 5;                ///< n, odd, 3 to 9
  int neighbours = 96;          ///< m, 1 to 256
  int iterations = 10;          ///< K
  std::optional<double> c1;     ///< squared mean sides; none: similarity alone weighs
  std::optional<double> c2;     ///< squared mean sides; none: from the noise
  std::optional<double> limit;  ///< mean sides that phi changes and the surfaces lie apart at most;
                                ///< none: as far as they like
  std::optional<double> search_radius;  ///< mean sides; none: the whole band
  bool keep_volume = true;              ///< step 4
  SearchStrategy strategy = SearchStrategy::automatic;
  /// Device memory that the neighbours, and the patches and work of their search, may take; what
  /// needs more is kept in host memory, in slabs. 0: three quarters of what is free.
  std::size_t memory_bytes = 0;

  /// Throws InvalidArgument.
  void validate() const;
};

/// What the search and the steps report; all members may stay as they are.
struct NonlocalMeansObserver {
  virtual ~NonlocalMeansObserver() = default;
  /// The band is known: its elements, the device memory that is predicted, the slabs its neighbours
  /// are kept in.
  virtual void on_band(int /*elements*/, std::size_t /*bytes*/, int /*slabs*/) {}
  /// `share` of the search is done.
  virtual void on_search(double /*share*/) {}
  virtual void on_iteration(int /*iteration*/, int /*iterations*/) {}
  /// Asked at each of these calls; true ends the work with Cancelled.
  virtual bool stop_requested() { return false; }
};

struct NonlocalMeansResult {
  Volume<float> distance;  ///< signed, mm, negative inside
  Volume<float>
      level_set;  ///< phi of step 4, mm: not quite a distance, but its zero has not been resampled
  int band_elements = 0;
  double band_mm = 0;
  double noise_mm = 0;  ///< s
  double c2 = 0, time_step = 0;
  double shift_mm = 0;  ///< of step 4
  double mean_change_mm = 0,
         max_change_mm = 0;      ///< of phi in the band, before it becomes a distance again
  std::int64_t held_voxels = 0;  ///< at points of step 6
  std::size_t predicted_bytes = 0;
  int slabs = 1;
  double search_seconds = 0, iteration_seconds = 0, distance_seconds = 0;
};

/// Device memory of a volume with its signed distance and level set while the distance is made, in
/// bytes: the least that a denoising takes, known before its band is.
std::size_t predict_surface_bytes(const Context& ctx, const Geometry& grid);

/// `distance`: signed, mm, negative inside; exact near the surface at least. Throws InvalidArgument
/// (options, an empty band, a patch larger than the volume, a band of fewer elements than
/// neighbours, NaN), RegistrationError when no surface is left, Cancelled.
NonlocalMeansResult nonlocal_means(Context& ctx, const Volume<float>& distance,
                                   const NonlocalMeansOptions& options,
                                   NonlocalMeansObserver* observer = nullptr);

}  // namespace freeflow
