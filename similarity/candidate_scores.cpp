#include <freeflow/similarity/candidate_scores.h>

#include <algorithm>
#include <cstring>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/similarity/candidate_scores_body.h>
#include <freeflow/similarity/intensity_range_body.h>
#include <freeflow/similarity/mutual_information_body.h>

namespace freeflow {

void count_candidates(backend::Cpu cpu, const CandidateInput& in, int bins,
                      std::uint32_t* histograms) {
  constexpr int longest = 256;
  const Extent n = in.fixed_bin.extent;
#pragma omp parallel for schedule(dynamic) num_threads(cpu.threads)
  for (int c = 0; c < in.candidates; ++c) {
    std::uint32_t* h = histograms + std::size_t(c) * bins * bins;
    std::memset(h, 0, std::size_t(bins) * bins * sizeof *h);
    const PointMap map = in.maps[c];
    const CandidateInput local = in;
    int bin[longest];
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int begin = 0; begin < n.x; begin += longest) {
          const int count = std::min(longest, n.x - begin);
#pragma GCC ivdep
          for (int i = 0; i < count; ++i) bin[i] = candidate_bin(local, map, bins, begin + i, y, z);
          for (int i = 0; i < count; ++i)
            if (bin[i] >= 0) ++h[bin[i]];
        }
  }
}

CandidateNmi::CandidateNmi(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving,
                           int max_candidates)
    : max_candidates_(max_candidates), moving_in_bins_(ctx, moving.geometry()),
      fixed_bin_(ctx, fixed.geometry()), maps_(ctx, max_candidates),
      histograms_(ctx, std::size_t(max_candidates) * bins * bins),
      terms_(ctx, std::size_t(max_candidates) * bins),
      results_(ctx, 2 * std::size_t(max_candidates)) {
  const IntensityRange f = robust_range(ctx, fixed, "the fixed image"),
                       m = robust_range(ctx, moving, "the moving image");
  for_each_voxel(ctx, fixed.extent(),
                 FixedBinBody{fixed.view(), fixed_bin_.view(), f.low,
                              float(bins - 1) / (f.high - f.low), bins});
  for_each_voxel(ctx, moving.extent(),
                 MovingBinBody{moving.view(), moving_in_bins_.view(), m.low,
                               float(bins - 3) / (m.high - m.low), bins});
  const ReduceWorkspace work(ctx, fixed.extent().count(), 1);
  reduce(ctx, fixed.extent().count(), 1, FiniteCountBody{{}, fixed.view().data}, work,
         results_.data());
  fixed_count_ = results_.to_host(ctx)[0];
}

std::vector<CandidateScore> CandidateNmi::score(Context& ctx, const std::vector<PointMap>& maps,
                                                CandidateSampling sampling,
                                                double smallest_overlap) {
  std::vector<CandidateScore> scores;
  std::vector<double> host(results_.size());
  for (std::size_t begin = 0; begin < maps.size(); begin += std::size_t(max_candidates_)) {
    const int n = int(std::min(maps.size() - begin, std::size_t(max_candidates_)));
    ctx.copy_to_device(maps_.data(), maps.data() + begin, std::size_t(n) * sizeof(PointMap));
    const CandidateInput input{std::as_const(fixed_bin_).view(),
                               std::as_const(moving_in_bins_).view(), maps_.data(), n,
                               sampling == CandidateSampling::nearest};
    backend::dispatch(
        ctx, [&](auto target) { count_candidates(target, input, bins, histograms_.data()); });
    for_each_voxel(ctx, Extent{bins, n, 1},
                   CandidateTermsBody{histograms_.data(), bins, terms_.data()});
    for_each_voxel(ctx, Extent{n, 1, 1}, CandidateCostBody{terms_.data(), bins, results_.data()});
    ctx.copy_to_host(host.data(), results_.data(), 2 * std::size_t(n) * sizeof(double));
    for (int c = 0; c < n; ++c) {
      const double overlap = fixed_count_ > 0 ? host[2 * c + 1] / fixed_count_ : 0;
      scores.push_back({overlap < smallest_overlap ? 0 : host[2 * c], overlap});
    }
  }
  return scores;
}

}  // namespace freeflow
