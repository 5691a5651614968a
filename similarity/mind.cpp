#include <freeflow/similarity/mind.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/row_cells.h>
#include <freeflow/similarity/mind_body.h>

namespace freeflow {

/// The CPU takes one channel of a piece of a row after the other: then the loops are over voxels.
template <>
void for_each_voxel(backend::Cpu cpu, Extent extent, const MindResidualBody& body) {
  constexpr int lanes = 4, words = 3, corners = 8, longest = 64;  // stays in the first cache
  struct Piece {
    RowCells cells;
    std::uint32_t fixed[words][longest], moving[words][corners][longest], present[longest];
    float weights[corners][longest], squares[lanes][longest], sums[lanes][corners][longest];
  };
  for_each_piece(cpu, extent, longest, [&](int x, int y, int z, int n) {
    const MindResidualBody local = body;
    const std::size_t first = extent.offset(x, y, z);
    static thread_local Piece p;
    const Extent grid = local.moving.extent;
    p.cells.locate(grid, n, [&](int i) { return local.point(x + i, y, z); });
    for (int i = 0; i < n; ++i) {
      const MindRecord& r = local.fixed[first + i];
      for (int w = 0; w < words; ++w) p.fixed[w][i] = r.channels[w];
      p.present[i] = r.present;
    }
    for (int k = 0; k < corners; ++k) {
      const MindRecord* const corner = local.moving.data + p.cells.step(k);
      for (int i = 0; i < n; ++i) {
        const MindRecord& r = corner[p.cells.corner(i)];
        for (int w = 0; w < words; ++w) p.moving[w][k][i] = r.channels[w];
        p.present[i] &= r.present;
      }
#pragma GCC ivdep
      for (int i = 0; i < n; ++i)
        p.weights[k][i] =
            MindResidualBody::weight(k, p.cells.along_x(i).fraction, p.cells.along_y(i).fraction,
                                     p.cells.along_z(i).fraction);
    }
    for (int i = 0; i < n; ++i) p.present[i] = p.cells.has_value(i) ? p.present[i] : 0;
    std::fill_n(&p.squares[0][0], lanes * longest, 0.0f);
    std::fill_n(&p.sums[0][0][0], lanes * corners * longest, 0.0f);
    for (int channel = 0; channel < MindRecord::count; ++channel) {
      const int w = channel / lanes, lane = channel % lanes, bits = 8 * lane;
      auto& sums = p.sums[lane];
#pragma GCC ivdep
      for (int i = 0; i < n; ++i) {
        float cell[corners], weights[corners], of_lane[corners];
        for (int k = 0; k < corners; ++k) {
          cell[k] = byte_at(p.moving[w][k][i], bits);
          weights[k] = p.weights[k][i];
          of_lane[k] = sums[k][i];
        }
        MindResidualBody::take(byte_at(p.fixed[w][i], bits), cell, weights, p.present[i] >> channel,
                               p.squares[lane][i], of_lane);
        for (int k = 0; k < corners; ++k) sums[k][i] = of_lane[k];
      }
    }
    const auto sum = [](const auto& of, int i) {
      return sum_of({{of[0][i], of[1][i], of[2][i], of[3][i]}});
    };
    for (int k = 0; k < corners; ++k)
#pragma GCC ivdep
      for (int i = 0; i < n; ++i)
        p.sums[0][k][i] =
            sum_of({{p.sums[0][k][i], p.sums[1][k][i], p.sums[2][k][i], p.sums[3][k][i]}});
    const auto& c = p.sums[0];
#pragma GCC ivdep
    for (int i = 0; i < n; ++i)
      local.write(first + i, p.present[i], sum(p.squares, i),
                  {c[0][i], c[1][i], c[2][i], c[3][i], c[4][i], c[5][i], c[6][i], c[7][i]},
                  p.cells.along_x(i), p.cells.along_y(i), p.cells.along_z(i));
  });
}

namespace {

using Order = std::array<std::uint8_t, MindRecord::count>;

constexpr int first_axis[] = {0, 0, 1}, second_axis[] = {1, 2, 2};

/// The signs of the two neighbours of channel k along its axes (MindPlanes).
constexpr int first_sign(int k) { return k % 4 == 0 || k % 4 == 2 ? 1 : -1; }
constexpr int second_sign(int k) { return k % 4 == 0 || k % 4 == 3 ? 1 : -1; }

int channel_of(int axis_a, int sign_a, int axis_b, int sign_b) {
  if (axis_a > axis_b) return channel_of(axis_b, sign_b, axis_a, sign_a);
  int k = 0;
  while (first_axis[k / 4] != axis_a || second_axis[k / 4] != axis_b || first_sign(k) != sign_a ||
         second_sign(k) != sign_b)
    ++k;
  return k;
}

/// The moving image's axis along which each fixed axis points, so that the product of what they
/// share is largest: a choice that the spacings do not touch.
std::array<int, 3> nearest_axes(const PointMap& map) {
  std::array<int, 3> axes = {0, 1, 2}, best = axes;
  double largest = -1;
  do {
    double product = 1;
    for (int a = 0; a < 3; ++a) product *= std::abs(double(map.m[axes[a]][a]));
    if (product > largest) {
      largest = product;
      best = axes;
    }
  } while (std::next_permutation(axes.begin(), axes.end()));
  return best;
}

Order order_of(const PointMap& map) {
  const std::array<int, 3> axes = nearest_axes(map);
  const auto sign = [&](int a) { return map.m[axes[a]][a] < 0 ? -1 : 1; };
  Order order{};
  for (int k = 0; k < MindRecord::count; ++k) {
    const int a = first_axis[k / 4], b = second_axis[k / 4];
    order[channel_of(axes[a], first_sign(k) * sign(a), axes[b], second_sign(k) * sign(b))] =
        std::uint8_t(k);
  }
  return order;
}

void validate(const MindOptions& options) {
  require(options.radius >= 1 && options.radius <= 16,
          "MindOptions::radius must lie between 1 and 16 voxels");
  require(options.dilation >= 1 && options.dilation <= 16,
          "MindOptions::dilation must lie between 1 and 16 voxels");
}

/// The shift from the first to the second patch of each plane (mind_body.h).
void set_shift(int plane, int dilation, int* shift) {
  const int a = first_axis[plane / 2], b = second_axis[plane / 2];
  for (int axis = 0; axis < 3; ++axis) shift[axis] = 0;
  shift[a] = plane % 2 == 0 ? -dilation : dilation;
  shift[b] = dilation;
}

}  // namespace

Buffer<MindRecord> mind_descriptors(Context& ctx, const Volume<float>& image,
                                    const IntensityRange& range, const MindOptions& options) {
  validate(options);
  require_on_device(ctx, image);
  const Extent n = image.extent();
  Buffer<MindRecord> records(ctx, n.count());
  const Buffer<float> planes(ctx, 6 * n.count()), sums(ctx, 6 * n.count());
  for (int first = 0; first < 6; first += 3) {
    const VolumeView<float> three{planes.data() + first * n.count(), n};
    for (int p = 0; p < 3; ++p) {
      MindSquaresBody body{image.view(),
                           range.low,
                           1.0f / (range.high - range.low),
                           {0, 0, 0},
                           {three.data + p * n.count(), n}};
      set_shift(first + p, options.dilation, body.shift);
      for_each_voxel(ctx, n, body);
    }
    sum_along_z(ctx, n, options.radius, MindSquaresAlongZ{three.data, {sums.data(), n}});
    sum_along_yx(ctx, n, options.radius, MindMeansAlongYx{sums.data(), three});
  }
  const MindPlanes distances{image.view(), planes.data(), options.dilation};
  float* const means = sums.data();
  const ReduceWorkspace work(ctx, n.count(), 2);
  const Buffer<double> variance(ctx, 2);
  for_each_voxel(ctx, n, MindVarianceBody{distances, means});
  reduce(ctx, n.count(), 2, MindMeanBody{{}, means}, work, variance.data());
  for_each_voxel(ctx, n, MindDescriptorBody{distances, variance.data(), records.data()});
  return records;
}

Mind::Mind(const MindOptions& options) : options_(options) { validate(options); }

void Mind::set_ranges(const IntensityRange& fixed, const IntensityRange& moving) {
  fixed_range_ = fixed;
  moving_range_ = moving;
}

void Mind::prepare(Context& ctx, const ImagePair& images) {
  require_on_device(ctx, images.fixed, images.moving);
  map_ = images.fixed_to_moving;
  fixed_extent_ = images.fixed.extent();
  moving_extent_ = images.moving.extent();
  fixed_ = mind_descriptors(ctx, images.fixed, fixed_range_, options_);
  moving_ = mind_descriptors(ctx, images.moving, moving_range_, options_);
  for (int k = 0; k < MindRecord::count; ++k) order_[k] = std::uint8_t(k);
  residual_ = Buffer<float>(ctx, fixed_extent_.count());
  work_ = ReduceWorkspace(ctx, fixed_extent_.count(), 2);
  sums_ = Buffer<double>(ctx, 2);
}

/// Brings the fixed image's channels into the order of those that they meet under map_.
void Mind::take_order_of_map(Context& ctx) {
  const Order wanted = order_of(map_);
  if (wanted == order_) return;
  MindOrderBody body{{fixed_.data(), fixed_extent_}, {}};
  for (int k = 0; k < MindRecord::count; ++k)
    body.from[k] =
        std::uint8_t(std::find(order_.begin(), order_.end(), wanted[k]) - order_.begin());
  for_each_voxel(ctx, fixed_extent_, body);
  order_ = wanted;
}

void Mind::evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force, double* cost) {
  take_order_of_map(ctx);
  force.extent = fixed_extent_;  // which one without data may lack, and residuals stand by
  for_each_voxel(
      ctx, fixed_extent_,
      MindResidualBody{
          fixed_.data(), {moving_.data(), moving_extent_}, {map_, u}, residual_.data(), force});
  reduce(ctx, fixed_extent_.count(), 2, MindMeanBody{{}, residual_.data()}, work_, sums_.data());
  for_each_voxel(ctx, Extent{1, 1, 1}, MindCostBody{sums_.data(), cost});
  if (force.data) for_each_voxel(ctx, fixed_extent_, MindForceBody{force, sums_.data()});
}

}  // namespace freeflow
