// Private to atlas: the median and the trimmed mean of many images, voxel by voxel, with images
// that belong to several processes. Values become 16-bit integers; the two ranks between which
// values count are found by bisection, sixteen counts of smaller values that are added up over
// processes, and what lies between is summed as integers.
#pragma once

#include <cstdint>
#include <vector>

#include <freeflow/atlas/ranks.h>

namespace freeflow {

class RankedMean {
 public:
  /// Values from low to high. share: left out at either end, of the values there are, rounded down;
  /// above 0.5: all but the middle one or two.
  RankedMean(std::size_t voxels, float low, float high, double share)
      : voxels_(voxels), low_(low), unit_((high - low) / 65534.0), share_(share) {}

  /// NaN voxels do not count.
  void add(const std::vector<float>& image);
  /// NaN where there is no value. All processes call it.
  std::vector<float> mean(Ranks& ranks, int threads) const;

 private:
  static constexpr std::uint16_t nothing = 65535;

  /// Images in which a voxel's value is below a limit of its own.
  std::vector<std::int64_t> count_below(const std::vector<std::int64_t>& limit, Ranks& ranks,
                                        int threads) const;
  /// Per voxel the value of that rank, from 0.
  std::vector<std::int64_t> value_of_rank(const std::vector<std::int64_t>& rank, Ranks& ranks,
                                          int threads) const;

  std::size_t voxels_;
  double low_, unit_, share_;
  std::vector<std::vector<std::uint16_t>> images_;
};

}  // namespace freeflow
