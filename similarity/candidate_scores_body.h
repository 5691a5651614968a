// Private: one voxel and one candidate of candidate_scores.h.
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/deform/sampling_body.h>
#include <freeflow/similarity/candidate_scores.h>
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
FREEFLOW_HD int candidate_bin(const CandidateInput& in, const PointMap& map, int bins, int x, int y,
                              int z) {
  const int f = in.fixed_bin(x, y, z);
  const Vec3f p = map_point(map, float(x), float(y), float(z));
  const float v =
      in.nearest ? sample_nearest(in.moving_in_bins, p) : sample_linear(in.moving_in_bins, p);
  const bool counts = (f != SampledPair::no_bin) & (v == v);
  return counts ? f * bins + int(v + 0.5f) : -1;
}

/// Counts candidates' histograms (bins * bins each), overwriting them.
void count_candidates(backend::Cpu, const CandidateInput& in, int bins, std::uint32_t* histograms);
void count_candidates(backend::Cuda, const CandidateInput& in, int bins, std::uint32_t* histograms);

struct CandidateTermsBody {
  const std::uint32_t* histograms;
  int bins;
  CandidateTerms* terms;  // bins per candidate
  static FREEFLOW_HD double c_log_c(std::uint32_t c) {
    return double(c) * log_positive(double(c ? c : 1));
  }
  FREEFLOW_HD void operator()(int a, int candidate, int) const {
    const std::uint32_t* h = histograms + std::size_t(candidate) * bins * bins;
    std::uint32_t row = 0, column = 0;
    double joint = 0;
    for (int b = 0; b < bins; ++b) {
      row += h[a * bins + b];
      column += h[b * bins + a];
      joint += c_log_c(h[a * bins + b]);
    }
    terms[std::size_t(candidate) * bins + a] = {joint, c_log_c(row), c_log_c(column), double(row)};
  }
};

/// Cost and number of voxels of a candidate.
struct CandidateCostBody {
  const CandidateTerms* terms;
  int bins;
  double* results;
  FREEFLOW_HD void operator()(int candidate, int, int) const {
    CandidateTerms sum{0, 0, 0, 0};
    for (int a = 0; a < bins; ++a) {
      const CandidateTerms& t = terms[std::size_t(candidate) * bins + a];
      sum = {sum.joint + t.joint, sum.fixed + t.fixed, sum.moving + t.moving, sum.mass + t.mass};
    }
    const double log_mass = sum.mass > 0 ? log_positive(sum.mass) : 0.0,
                 joint = log_mass - sum.joint / sum.mass;
    const double marginals = (log_mass - sum.fixed / sum.mass) + (log_mass - sum.moving / sum.mass);
    results[2 * candidate] = sum.mass > 0 && joint > 1e-12 ? -marginals / joint : 0.0;
    results[2 * candidate + 1] = sum.mass;
  }
};

}  // namespace freeflow
