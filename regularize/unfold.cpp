#include <freeflow/regularize/unfold.h>

#include <algorithm>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/regularize/unfold_body.h>

namespace freeflow {

namespace {

constexpr int passes = 4;                                   // between two looks for folds
constexpr int narrowest = 2;                                // reach at the start, voxels
constexpr int widest = 16;                                  // and at the end
constexpr int widening_rounds = 4;                          // after which it grows by a voxel
constexpr int rounds_by_volumes = 12, averaging_every = 4;  // of the rounds after those
constexpr float margin = 0.02f;                             // above the bound
constexpr float gain = 3;  // of the mean of what corners ask for, which alone creeps

/// Offsets of voxels near folds, those that move first.
struct Neighbourhood {
  std::vector<int> voxels;
  std::size_t moving = 0;
};

/// The voxels up to `reach` steps along the axes from `folds`, which move, and one step farther,
/// whose corners that changes. `seen` is 0 everywhere before and after.
Neighbourhood around(const std::vector<int>& folds, Extent n, int reach,
                     std::vector<unsigned char>& seen) {
  Neighbourhood found{folds, 0};
  std::vector<int>& voxels = found.voxels;
  for (const int v : voxels) seen[std::size_t(v)] = 1;
  const auto add = [&](bool exists, int v) {
    if (!exists || seen[std::size_t(v)]) return;
    seen[std::size_t(v)] = 1;
    voxels.push_back(v);
  };
  const int slice = n.x * n.y;
  std::size_t begin = 0;
  for (int step = 0; step <= reach; ++step) {
    if (step == reach) found.moving = voxels.size();
    const std::size_t end = voxels.size();
    for (; begin < end; ++begin) {
      const int v = voxels[begin], x = v % n.x, y = v / n.x % n.y, z = v / slice;
      add(x > 0, v - 1);
      add(x + 1 < n.x, v + 1);
      add(y > 0, v - n.x);
      add(y + 1 < n.y, v + n.x);
      add(z > 0, v - slice);
      add(z + 1 < n.z, v + slice);
    }
  }
  for (const int v : voxels) seen[std::size_t(v)] = 0;
  return found;
}

std::vector<int> folds_anywhere(Context& ctx, const DisplacementField& u, float bound,
                                const Buffer<unsigned char>& marks) {
  for_each_voxel(ctx, u.extent(), FoldMarkBody{u.view(), {marks.data(), u.extent()}, bound});
  const std::vector<unsigned char> marked = marks.to_host(ctx);
  std::vector<int> folds;
  for (std::size_t i = 0; i < marked.size(); ++i)
    if (marked[i]) folds.push_back(int(i));
  return folds;
}

/// One round: moves the voxels about `folds` and returns the folds that are there then. `scratch`
/// has a mark per voxel of the grid.
std::vector<int> folds_after_round(Context& ctx, DisplacementField& u, const Neighbourhood& near,
                                   float bound, bool averages,
                                   const Buffer<unsigned char>& scratch) {
  const Buffer<int> offsets(ctx, near.voxels);
  const ListedVoxels voxels{offsets.data(), u.extent()};
  const Extent moving{int(near.moving), 1, 1}, looked{int(near.voxels.size()), 1, 1};
  const Buffer<float> planes(ctx, 3 * near.moving);
  const FieldView<float> moved{planes.data(), moving};
  const Buffer<unsigned char> marks(ctx, near.voxels.size());
  const FieldView<const float> now = std::as_const(u).view();
  const VolumeView<unsigned char> low{scratch.data(), u.extent()};
  const float target = bound + margin;
  const ListedFoldMarkBody look{now, voxels, marks.data(), low, bound, target};
  for (int pass = 0; pass < passes; ++pass) {
    if (averages) {
      for_each_voxel(ctx, moving, AverageListedBody{now, voxels, moved});
    } else {
      for_each_voxel(ctx, looked, look);
      for_each_voxel(ctx, moving, OpenCornersBody{now, voxels, low, moved, target, gain});
    }
    for_each_voxel(ctx, moving, PutListedBody{moved, voxels, u.view()});
  }
  for_each_voxel(ctx, looked, look);
  const std::vector<unsigned char> marked = marks.to_host(ctx);
  std::vector<int> folds;
  for (std::size_t i = 0; i < marked.size(); ++i)
    if (marked[i]) folds.push_back(near.voxels[i]);
  std::sort(folds.begin(), folds.end());  // neighbours in memory stay neighbours in the list
  return folds;
}

}  // namespace

UnfoldResult unfold(Context& ctx, DisplacementField& u, const UnfoldOptions& options,
                    const StopRequest& stop) {
  require_on_device(ctx, u);
  const Extent n = u.extent();
  const auto bound = float(options.bound);
  const Buffer<unsigned char> scratch(ctx, n.count());
  std::vector<int> folds = folds_anywhere(ctx, u, bound, scratch);
  UnfoldResult result;
  result.voxels_before = folds.size();
  std::vector<unsigned char> seen(folds.empty() ? 0 : n.count());
  for (; !folds.empty() && result.rounds < options.max_rounds; ++result.rounds) {
    stop_if(stop);
    const int reach = std::min(widest, narrowest + result.rounds / widening_rounds);
    const bool averages = result.rounds >= rounds_by_volumes &&
                          result.rounds % averaging_every == averaging_every - 1;
    folds = folds_after_round(ctx, u, around(folds, n, reach, seen), bound, averages, scratch);
  }
  result.voxels_after = folds.size();
  return result;
}

}  // namespace freeflow
