// Private: one voxel and one candidate of candidate_scores.h.
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/deform/sampling_body.h>
#include <freeflow/similarity/joint_histogram/joint_histogram.h>

namespace freeflow {

/// The images, and the maps to try.
struct CandidateInput {
  VolumeView<const std::uint16_t> fixed_bin;
  VolumeView<const float> moving_in_bins;
  const PointMap* maps;
  int candidates;
  bool nearest;
};

/// Position of a voxel's pair in the histogram, or -1 when it does not count.
FREEFLOW_HD int candidate_bin(const CandidateInput& in, const PointMap& map, int bins, int x, int y, int z) {
  const int f = in.fixed_bin(x, y, z);
  const Vec3f p = map_point(map, float(x), float(y), float(z));
  const float v = in.nearest ? sample_nearest(in.moving_in_bins, p) : sample_linear(in.moving_in_bins, p);
  const bool counts = (f != SampledPair::no_bin) & (v == v);
  return counts ? f * bins + int(v + 0.5f) : -1;
}

/// Counts candidates' histograms (bins * bins each), overwriting them.
void count_candidates(backend::Cpu, const CandidateInput& in, int bins, std::uint32_t* histograms);
void count_candidates(backend::Cuda, const CandidateInput& in, int bins, std::uint32_t* histograms);

/// Cost and number of voxels of a candidate from its histogram.
struct CandidateCostBody {
  const std::uint32_t* histograms;
  int bins;
  double* results;
  static FREEFLOW_HD double c_log_c(std::uint32_t c) { return c ? double(c) * log_positive(double(c)) : 0.0; }
  FREEFLOW_HD void operator()(int candidate, int, int) const {
    const std::uint32_t* h = histograms + std::size_t(candidate) * bins * bins;
    double joint = 0, fixed = 0, moving = 0, mass = 0;
    for (int a = 0; a < bins; ++a) {
      std::uint32_t row = 0, column = 0;
      for (int b = 0; b < bins; ++b) {
        row += h[a * bins + b];
        column += h[b * bins + a];
        joint += c_log_c(h[a * bins + b]);
      }
      fixed += c_log_c(row);
      moving += c_log_c(column);
      mass += double(row);
    }
    const double log_mass = mass > 0 ? log_positive(mass) : 0.0, h_joint = log_mass - joint / mass;
    const double sum = (log_mass - fixed / mass) + (log_mass - moving / mass);
    results[2 * candidate] = mass > 0 && h_joint > 1e-12 ? -sum / h_joint : 0.0;
    results[2 * candidate + 1] = mass;
  }
};

}  // namespace freeflow
