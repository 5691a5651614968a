#include <freeflow/regularize/unfold.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/regularize/unfold_body.h>

namespace freeflow {

namespace {

constexpr int sweeps = 8;             // of a round, after which the host looks
constexpr int rounds_by_volumes = 2;  // which take out most; later ones average first,
constexpr int averaging_rounds = 8;   // by a sweep more each time that many are over,
constexpr int stubborn_rounds = 32;   // and from there on all that lies near, folded or not
constexpr int widening_rounds = 4;    // after which the blocks around are worked on, too
constexpr float margin = 0.02f;       // above the bound

struct RoundPlan {
  int averaging;        // sweeps
  float average_below;  // a determinant
  int rings;            // of blocks about those with folds

  RoundPlan(int round, float bound)
      : averaging(round < rounds_by_volumes
                      ? 0
                      : std::min(1 + (round - rounds_by_volumes) / averaging_rounds, sweeps - 1)),
        average_below(round < stubborn_rounds ? bound : std::numeric_limits<float>::max()),
        rings(round / widening_rounds) {}
};

/// All that unfolding keeps on the device, and on the host per block the voxels that fold.
class Unfolding {
 public:
  Unfolding(Context& ctx, DisplacementField& u, float bound)
      : ctx_(ctx), u_(u), bound_(bound), blocks_(ListedBlocks::blocks_of(u.extent())),
        rows_(ListedBlocks::rows_of(u.extent())), stamps_(ctx, rows_.count()),
        known_(ctx, u.extent().count()), row_folds_(ctx, rows_.count()), folds_(blocks_.count()) {
    stamps_.fill_zero(ctx);
    for_each_voxel(ctx, u.extent(), FirstLookBody{std::as_const(u).view(), known(), bound});
    for_each_voxel(ctx, rows_, CountFirstBody{known().of, row_folds()});
    std::vector<int> all(blocks_.count());
    std::iota(all.begin(), all.end(), 0);
    count(all, Buffer<int>(ctx, all));
  }

  std::size_t total() const {
    return std::size_t(std::accumulate(folds_.begin(), folds_.end(), 0LL));
  }

  /// Sweeps over the blocks with folds and those around them, then counts. Waits once.
  void round(const RoundPlan& plan) {
    std::vector<int> blocks;
    for (std::size_t i = 0; i < folds_.size(); ++i)
      if (folds_[i] > 0) blocks.push_back(int(i));
    for (int ring = 0; ring < plan.rings; ++ring) blocks = and_around(blocks);
    const int first = sweep_ + 1;
    sweep(Buffer<int>(ctx_, blocks), plan);
    const std::vector<int> changed = and_around(blocks);
    const Buffer<int> list(ctx_, changed);
    const ListedBlocks listed{list.data(), u_.extent()};
    for_each_voxel(ctx_, rows_of(list),
                   CountRowsBody{std::as_const(u_).view(), listed, stamps(), known(), row_folds(),
                                 first, bound_});
    count(changed, list);
  }

 private:
  Stamps stamps() const { return {stamps_.data(), rows_}; }
  KnownCorners known() const { return {{known_.data(), u_.extent()}, bound_ + margin}; }
  VolumeView<unsigned char> row_folds() const { return {row_folds_.data(), rows_}; }
  static Extent rows_of(const Buffer<int>& list) {
    return {int(list.size()) * ListedBlocks::rows, 1, 1};
  }

  /// `blocks` and all that touch them, in order.
  std::vector<int> and_around(const std::vector<int>& blocks) const {
    std::vector<unsigned char> reached(blocks_.count());
    for (const int b : blocks) {
      const int x = b % blocks_.x, y = b / blocks_.x % blocks_.y, z = b / (blocks_.x * blocks_.y);
      for (int k = std::max(z - 1, 0); k <= std::min(z + 1, blocks_.z - 1); ++k)
        for (int j = std::max(y - 1, 0); j <= std::min(y + 1, blocks_.y - 1); ++j)
          for (int i = std::max(x - 1, 0); i <= std::min(x + 1, blocks_.x - 1); ++i)
            reached[blocks_.offset(i, j, k)] = 1;
    }
    std::vector<int> found;
    for (std::size_t i = 0; i < reached.size(); ++i)
      if (reached[i]) found.push_back(int(i));
    return found;
  }

  void sweep(const Buffer<int>& list, const RoundPlan& plan) {
    const ListedBlocks listed{list.data(), u_.extent()};
    const Extent rows = rows_of(list);
    const Buffer<unsigned char> planned(ctx_, rows.count());
    for (int nth = 0; nth < sweeps; ++nth) {
      ++sweep_;
      for_each_voxel(ctx_, rows, PlanBody{listed, stamps(), planned.data(), sweep_});
      const bool averages = nth < plan.averaging;
      for (int colour = 0; colour < ListedBlocks::side; ++colour) {
        const Sweep now{
            u_.view(),      listed, stamps(), known(),
            planned.data(), sweep_, colour,   averages ? plan.average_below : known().target};
        if (averages)
          for_each_voxel(ctx_, rows, AverageBody{now});
        else
          for_each_voxel(ctx_, rows, OpenCornersBody{now});
      }
    }
  }

  void count(const std::vector<int>& blocks, const Buffer<int>& list) {
    const ListedBlocks listed{list.data(), u_.extent()};
    const Buffer<int> counts(ctx_, blocks.size());
    for_each_voxel(ctx_, {int(blocks.size()), 1, 1},
                   CountBlocksBody{listed, stamps(), row_folds(), counts.data(), sweep_});
    const std::vector<int> found = counts.to_host(ctx_);
    for (std::size_t i = 0; i < blocks.size(); ++i) folds_[std::size_t(blocks[i])] = found[i];
  }

  Context& ctx_;
  DisplacementField& u_;
  float bound_;
  Extent blocks_, rows_;  // of the grid
  Buffer<int> stamps_;
  Buffer<Corners> known_;
  Buffer<unsigned char> row_folds_;
  std::vector<int> folds_;  // per block
  int sweep_ = 0;
};

}  // namespace

UnfoldResult unfold(Context& ctx, DisplacementField& u, const UnfoldOptions& options,
                    const StopRequest& stop) {
  require_on_device(ctx, u);
  const auto bound = float(options.bound);
  Unfolding unfolding(ctx, u, bound);
  UnfoldResult result;
  result.voxels_before = result.voxels_after = unfolding.total();
  for (; result.voxels_after > 0 && result.rounds < options.max_rounds; ++result.rounds) {
    stop_if(stop);
    unfolding.round(RoundPlan(result.rounds, bound));
    result.voxels_after = unfolding.total();
  }
  return result;
}

}  // namespace freeflow
