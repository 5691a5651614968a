// How a template is built.
#pragma once

#include <optional>
#include <vector>

#include <freeflow/atlas/subject.h>
#include <freeflow/registration/register_images.h>

namespace freeflow {

/// Of a round that goes on from the last, on its finest level: a third of the model's. What it does
/// not reach the next round finds, whose template is better.
inline int iterations_going_on(int of_model) { return (of_model + 2) / 3; }

/// Of the subjects' intensities at a voxel of the template. Voxels where a subject has no value do
/// not count.
enum class AtlasStatistic {
  mean,
  median,  ///< 32 bits of host memory and a little time per voxel and subject more
  trimmed  ///< the mean without the largest and the smallest AtlasOptions::trim of them
};
std::optional<AtlasStatistic> parse_atlas_statistic(std::string_view name);

struct AtlasOptions {
  /// With the levels, iterations and measure of full resolution. Initial transforms are the
  /// template's own. A model that keeps a velocity (symmetric flows, log-domain demons) is averaged
  /// in the log-Euclidean sense (Arsigny 2006), the others by the displacement.
  NonrigidModel model = FlowOptions{};
  LinearModel linear = LinearModel::affine;
  /// Every subject begins with its centre of mass on the reference's. `gradient` where headers tell
  /// how subjects lie to 20 degrees: it cannot take one for another side of itself.
  LinearSearch search = LinearSearch::automatic;
  /// At most so many rounds per resolution, coarse to fine; the last are at full resolution, those
  /// before at voxels twice as large each. At most 5 resolutions, and as many as the model's
  /// levels.
  std::vector<int> rounds = {2, 4};
  /// A resolution's rounds end when the mean deformation changes by less than this from a round to
  /// the next, on average over the template's mask, in its smallest voxel sides; 0: never.
  double enough_voxels = 0.05;
  /// Share of the mean deformation by which a round moves the template's shape.
  double shape_step = 1;
  AtlasStatistic statistic = AtlasStatistic::mean;
  double trim = 0.1;  ///< at either end, below 0.5
  /// Between the voxels of the subjects, which are sampled once for every average.
  Interpolation interpolation = Interpolation::linear;
  /// After every average: T + sharpening * (T - G * T), G a Gaussian of one voxel; 0: none.
  double sharpening = 0;
  /// A subject whose registration fails is left out from there on; else it ends the work.
  bool keep_going = false;
  /// Where to start, and the grid: one subject's image or an older template. The subjects' mean
  /// size and shape take over, place and turn stay. Empty: from the subjects themselves, in their
  /// mean place.
  std::optional<AtlasSubject> start;

  /// Throws InvalidArgument with the field, as AtlasOptions::field, and its mend.
  void validate() const;
};

}  // namespace freeflow
