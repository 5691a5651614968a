#include <freeflow/registration/search/discrete_start.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/field_algebra.h>
#include <freeflow/deform/field_operations.h>
#include <freeflow/registration/levels/image_channels.h>
#include <freeflow/registration/levels/seconds_since.h>
#include <freeflow/registration/levels/with_prepared.h>
#include <freeflow/registration/search/discrete_start_body.h>
#include <freeflow/registration/search/search_images.h>

namespace freeflow {

namespace {

constexpr int coarse_cell = 4, fine_cell = 2;  // voxels
static_assert(2 * coarse_cell == fewest_voxels_of_start);
constexpr int fine_reach = 3;  // voxels about the coarse result
constexpr int consistency_rounds = 15;
constexpr double agreement = 2;  // voxels, of both directions
constexpr double large = 0.045;  // parts of the object that move so far are worth a start
constexpr double clearly = 0.8;  // of that; near it finer cells add a sixth (notes/discrete-start)
const std::vector<double> weights = {0.003, 0.01, 0.03, 0.1};

SquaredLength squared_length(const DisplacementField& u) {
  SquaredLength length{u.view(), {}};
  for (int a = 0; a < 3; ++a) length.spacing[a] = float(u.geometry().spacing[a]);
  return length;
}

/// Continues a displacement over the cells where it is not known, from their neighbours on.
void continue_known(Context& ctx, DisplacementField& u) {
  const Extent n = u.extent();
  DisplacementField next(ctx, u.geometry());
  for (int left = std::max({n.x, n.y, n.z}); left > 0; --left) {
    const float unknown = left > 1 ? float(NAN) : 0.0f;
    for_each_voxel(ctx, n, ContinueBody{{std::as_const(u).view(), next.view(), unknown}});
    std::swap(u, next);
  }
}

/// A displacement and the other direction's, in voxels of their own grid.
struct Pair {
  DisplacementField forth, back;

  /// What one image shows beyond the other's end is drawn onto that end, and there the other
  /// direction does not confirm it (Sundaram, Brox and Keutzer, "Dense point trajectories by
  /// GPU-accelerated large displacement optical flow", ECCV 2010). Such cells follow those that are
  /// confirmed.
  void keep_confirmed(Context& ctx, double limit_mm) {
    const DisplacementField disagreement[] = {compose(ctx, forth, back), compose(ctx, back, forth)};
    for (int i = 0; i < 2; ++i) {
      DisplacementField& u = i == 0 ? forth : back;
      const SquaredLength length = squared_length(disagreement[i]);
      for_each_voxel(ctx, u.extent(), ConfirmBody{length, limit_mm * limit_mm, u.view()});
      continue_known(ctx, u);
    }
  }

  /// Halves what they do not undo of each other, again and again: u <- (u - v o (id + u)) / 2.
  void make_consistent(Context& ctx) {
    for (int k = 0; k < consistency_rounds; ++k) {
      DisplacementField next = linear_combination(ctx, 1, forth, -0.5, compose(ctx, forth, back));
      back = linear_combination(ctx, 1, back, -0.5, compose(ctx, back, forth));
      forth = std::move(next);
    }
  }
};

Pair search_coarse(Context& ctx, const WorkingImages& images, const StopRequest& stop) {
  const SearchImages both = images.images();
  const DisplacementSearch search(ctx, images.cells(coarse_cell), coarse_cell, images.window(),
                                  both.channels.size());
  const auto found = [&](const SearchImages& in) {
    stop_if(stop);
    return scale(ctx, 1.0 / coarse_cell, search.run(ctx, in, weights));
  };
  Pair u;
  u.forth = found(both);
  u.back = found(both.swapped());
  return u;
}

Pair search_fine(Context& ctx, const WorkingImages& images, const Pair& coarse,
                 const StopRequest& stop) {
  const SearchImages both = images.images();
  const Geometry cells = images.cells(fine_cell);
  const DisplacementSearch search(ctx, cells, fine_cell, {{fine_reach, fine_reach, fine_reach}, 1},
                                  both.channels.size());
  const auto found = [&](const SearchImages& in, const DisplacementField& about) {
    stop_if(stop);
    return scale(
        ctx, 1.0 / fine_cell,
        search.refine(ctx, in, weights, scale(ctx, fine_cell, resample(ctx, about, cells))));
  };
  Pair u;
  u.forth = found(both, coarse.forth);
  u.back = found(both.swapped(), coarse.back);
  return u;
}

struct Lengths {
  double root_mean_square = 0, moving_parts = 0, largest = 0;  // mm
};

/// Of a displacement on cells of so many voxels. Beyond an image's end the search follows the other
/// one alone, so what moves is the lesser of what moves where the one and where the other shows
/// something.
Lengths lengths_of(Context& ctx, const SearchImages& images, const DisplacementField& u,
                   int width) {
  const std::size_t cells = u.extent().count();
  const ReduceWorkspace work(ctx, cells, 3);
  const Buffer<double> sums(ctx, 7);
  const SquaredLength length = squared_length(u);
  LengthPowersBody powers{{}, length, images.channels[0].moving, {}, width};
  std::copy_n(images.margin, 3, powers.margin);
  reduce(ctx, cells, 3, powers, work, sums.data());
  powers.moving = images.channels[0].fixed;
  reduce(ctx, cells, 3, powers, work, sums.data() + 3);
  reduce(ctx, cells, 1, LargestSquaredLengthBody{{}, length}, work, sums.data() + 6);
  const std::vector<double> s = sums.to_host(ctx);
  const auto moving_parts = [](double squares, double fourth_powers) {
    return squares > 0 ? std::sqrt(fourth_powers / squares) : 0;
  };
  return {std::sqrt(s[0] / double(cells)),
          std::min(moving_parts(s[1], s[2]), moving_parts(s[4], s[5])), std::sqrt(s[6])};
}

StartRecord measure(Context& ctx, const WorkingImages& images, const DisplacementField& u) {
  const SearchImages both = images.images();
  const Extent grid = both.channels[0].fixed.extent;
  const Extent core{grid.x - 2 * both.margin[0], grid.y - 2 * both.margin[1],
                    grid.z - 2 * both.margin[2]};
  const ReduceWorkspace work(ctx, core.count(), 3);
  const Buffer<double> sums(ctx, 3 * both.channels.size());
  for (std::size_t c = 0; c < both.channels.size(); ++c) {
    const StartFitBody fit{{},
                           both.channels[c].fixed,
                           both.channels[c].moving,
                           core,
                           {both.margin[0], both.margin[1], both.margin[2]},
                           fine_cell,
                           u.view()};
    reduce(ctx, core.count(), 3, fit, work, sums.data() + 3 * c);
  }
  const std::vector<double> s = sums.to_host(ctx);
  const Lengths lengths = lengths_of(ctx, both, u, fine_cell);
  StartRecord record;
  record.object_mm = images.object_mm();
  record.voxel_mm = images.voxel_mm().minCoeff();
  double seen = 0;  // weights of the channels that show something
  for (std::size_t c = 0; c < both.channels.size(); ++c)
    if (const double* of = &s[3 * c], weight = both.channels[c].weight; of[2] > 0) {
      record.cost_before += weight * (of[0] / of[2]);
      record.cost_after += weight * (of[1] / of[2]);
      seen += weight;
    }
  if (seen > 0) record.cost_before /= seen, record.cost_after /= seen;
  record.root_mean_square_mm = lengths.root_mean_square;
  record.moving_parts_mm = lengths.moving_parts;
  record.largest_mm = lengths.largest;
  return record;
}

}  // namespace

std::optional<StartKind> parse_start(std::string_view name) {
  if (name == "auto") return StartKind::automatic;
  if (name == "discrete") return StartKind::discrete;
  if (name == "none") return StartKind::none;
  return {};
}

void DiscreteStartOptions::validate() const {
  require(reach >= 0.02 && reach <= 0.4,
          "DiscreteStartOptions::reach must lie between 0.02 and 0.4 of the image's sides");
  require(voxels >= 16 && voxels <= 128,
          "DiscreteStartOptions::voxels must lie between 16 and 128");
}

void judge(StartRecord& r) {
  constexpr double gain = 0.175;
  r.taken = false;
  if (r.moving_parts_mm < large * r.object_mm)
    r.reason = "the motion is small";
  else if (!(r.cost_after < (1 - gain) * r.cost_before))
    r.reason = "the images match little better for it";
  else {
    r.taken = true;
    r.reason = "the motion is large, and the images match clearly better for it";
  }
}

DiscreteStart discrete_start(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                             const Eigen::Affine3d& affine, const DiscreteStartOptions& options,
                             Observer* observer) {
  const auto begin = Clock::now();
  options.validate();
  require(affine.matrix().allFinite() && std::abs(affine.linear().determinant()) > 1e-6,
          "the affine of a discrete start is not invertible");
  const StopRequest stop = observer ? observer->stop_request() : StopRequest{};
  const std::vector<double> shares =
      channel_shares(options.channel_weights, common_channels(fixed, moving));
  const WorkingImages images(ctx, fixed, moving, affine, options.voxels, options.reach, shares);
  Pair u = search_coarse(ctx, images, stop);
  const double disagreement = inverse_residual(ctx, u.forth, u.back).mean_voxels;
  const double limit_mm = agreement * std::cbrt(images.voxel_mm().prod());
  u.keep_confirmed(ctx, limit_mm);
  u.make_consistent(ctx);
  // A rehearsal, which finds nothing, goes all the way.
  const bool still = options.only_large && !ctx.rehearses() &&
                     lengths_of(ctx, images.images(), u.forth, coarse_cell).moving_parts <
                         clearly * large * images.object_mm();
  if (still) {
    u.forth = resample(ctx, u.forth, images.cells(fine_cell));
  } else {
    u = search_fine(ctx, images, u, stop);
    u.keep_confirmed(ctx, limit_mm);
    u.make_consistent(ctx);
  }
  DiscreteStart start{std::move(u.forth), {}};
  start.record = measure(ctx, images, start.displacement);
  start.record.inconsistency_mm = disagreement * coarse_cell * std::cbrt(images.voxel_mm().prod());
  judge(start.record);
  start.record.seconds = seconds_since(begin);
  return start;
}

DiscreteStart discrete_start(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving,
                             const Eigen::Affine3d& affine, const DiscreteStartOptions& options,
                             const Masks& masks, Observer* observer) {
  options.validate();
  return with_prepared(fixed, moving, masks, [&](PreparedImage& f, PreparedImage& m) {
    return discrete_start(ctx, f, m, affine, options, observer);
  });
}

}  // namespace freeflow
