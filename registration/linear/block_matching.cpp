#include <freeflow/registration/linear/block_matching.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/deform/warp.h>
#include <freeflow/similarity/intensity_range.h>

namespace freeflow {

namespace {

constexpr int lanes = 8;      // offsets along x, one more than there are
constexpr int row_room = 16;  // of a region's row, with the lanes beyond
using Row = float[lanes];

/// One block of the CPU: all offsets of a row at once.
class BlockSearch {
 public:
  BlockSearch(const BlockMatchInput& in, const int* corner) {
    const int x = corner[0], y = corner[1], z = corner[2];
    const float level = in.fixed(x, y, z);
    float sum = 0;
    for_block([&](int i, int j, int k) {
      sum += fixed_[k][j][i] = in.fixed(x + i, y + j, z + k) - level;
    });
    const float mean = sum * (1.0f / block::voxels);
    for_block([&](int i, int j, int k) {
      fixed_[k][j][i] -= mean;
      variation_ = fma_(fixed_[k][j][i], fixed_[k][j][i], variation_);
    });
    const float centre = in.warped(x, y, z), moving_level = centre == centre ? centre : 0.0f;
    fill_region(in.warped, x - block::reach, y - block::reach, z - block::reach, moving_level);
  }

  BlockMatch best(float least_variation) {
    multiply();
    add_up();
    float score[block::offsets + 1];  // each row's lane beyond is overwritten by the next
    for (int row = 0; row < block::span * block::span; ++row) {
      const int k = row / block::span, j = row % block::span;
#pragma omp simd
      for (int a = 0; a < lanes; ++a)
        score[block::span * row + a] = block::squared_correlation(
            variation_, product_[k][j][a], {sum_[k][j][a], square_[k][j][a]}, least_variation);
    }
    float top = -1;  // no score is less
#pragma omp simd reduction(max : top)
    for (int i = 0; i < block::offsets; ++i) top = std::max(top, score[i]);
    return block::match_at(score, int(std::find(score, score + block::offsets, top) - score));
  }

 private:
  template <class F>
  static void for_block(const F& f) {
    for (int k = 0; k < block::width; ++k)
      for (int j = 0; j < block::width; ++j)
        for (int i = 0; i < block::width; ++i) f(i, j, k);
  }

  /// Most regions lie inside the image: their rows are copied whole.
  void fill_region(VolumeView<const float> image, int x, int y, int z, float level) {
    const Extent n = image.extent;
    const auto within = [](int begin, int voxels) {
      return begin >= 0 && begin + block::region <= voxels;
    };
    const bool inside = within(x, n.x) && within(y, n.y) && within(z, n.z);
    for (int k = 0; k < block::region; ++k)
      for (int j = 0; j < block::region; ++j) {
        float* row = region_[k][j];
        std::fill(row + block::region, row + row_room, 0.0f);
        if (inside) {
          const float* source = &image(x, y + j, z + k);
#pragma omp simd
          for (int i = 0; i < block::region; ++i) row[i] = source[i] - level;
        } else {
          for (int i = 0; i < block::region; ++i)
            row[i] = block::region_voxel(image, x + i, y + j, z + k, level);
        }
      }
  }

  /// A plane of offsets at a time; a row of voxels is added to all its sums while they stay in
  /// registers.
  void multiply() {
    for (int c = 0; c < block::span; ++c) {
      auto& plane = product_[c];
      std::fill_n(&plane[0][0], block::span * lanes, 0.0f);
      for (int k = 0; k < block::width; ++k)
        for (int j = 0; j < block::width; ++j) {
          const float* fixed = fixed_[k][j];
          const auto* rows = &region_[k + c][j];
#pragma omp simd
          for (int a = 0; a < lanes; ++a) {
            float sum[block::span];
#pragma GCC unroll 7
            for (int b = 0; b < block::span; ++b) sum[b] = plane[b][a];
#pragma GCC unroll 4
            for (int i = 0; i < block::width; ++i)
#pragma GCC unroll 7
              for (int b = 0; b < block::span; ++b) sum[b] = fma_(fixed[i], rows[b][i + a], sum[b]);
#pragma GCC unroll 7
            for (int b = 0; b < block::span; ++b) plane[b][a] = sum[b];
          }
        }
    }
  }

  /// Sums of every moved block: along x, then y, then z.
  void add_up() {
    Row rows[2][block::region][block::region], planes[2][block::region][block::span];
    for (int k = 0; k < block::region; ++k)
      for (int j = 0; j < block::region; ++j)
#pragma omp simd
        for (int a = 0; a < lanes; ++a) {
          const float* r = &region_[k][j][a];
          rows[0][k][j][a] = ((r[0] + r[1]) + r[2]) + r[3];
          rows[1][k][j][a] = fma_(r[3], r[3], fma_(r[2], r[2], fma_(r[1], r[1], r[0] * r[0])));
        }
    for (int t = 0; t < 2; ++t) {
      for (int k = 0; k < block::region; ++k)
        for (int b = 0; b < block::span; ++b)
#pragma omp simd
          for (int a = 0; a < lanes; ++a)
            planes[t][k][b][a] =
                ((rows[t][k][b][a] + rows[t][k][b + 1][a]) + rows[t][k][b + 2][a]) +
                rows[t][k][b + 3][a];
      auto& cubes = t == 0 ? sum_ : square_;
      for (int c = 0; c < block::span; ++c)
        for (int b = 0; b < block::span; ++b)
#pragma omp simd
          for (int a = 0; a < lanes; ++a)
            cubes[c][b][a] =
                ((planes[t][c][b][a] + planes[t][c + 1][b][a]) + planes[t][c + 2][b][a]) +
                planes[t][c + 3][b][a];
    }
  }

  float fixed_[block::width][block::width][block::width];
  float variation_ = 0;
  alignas(64) float region_[block::region][block::region][row_room];
  Row product_[block::span][block::span], sum_[block::span][block::span],
      square_[block::span][block::span];
};

}  // namespace

void match_blocks(backend::Cpu cpu, const BlockMatchInput& in, BlockMatch* matches) {
#pragma omp parallel for schedule(dynamic, 64) num_threads(cpu.threads)
  for (int b = 0; b < in.blocks; ++b)
    matches[b] = BlockSearch(in, in.corners + 3 * b).best(in.least_variation);
}

BlockMatching::BlockMatching(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving)
    : fixed_(fixed), moving_(moving), warped_(ctx, fixed.geometry()) {
  constexpr double flat = 1e-2;  // of the robust range: less structure is noise
  const auto least_variance = [&](const Volume<float>& image, const char* what) {
    const IntensityRange r = robust_range(ctx, image, what);
    return flat * flat * double(r.high - r.low) * double(r.high - r.low);
  };
  least_variation_ = float(block::voxels * least_variance(moving, "the moving image"));
  const auto blocks_along = [](int voxels) {
    return voxels < block::width ? 0 : (voxels - block::width) / block::stride + 1;
  };
  const Extent n = fixed.extent(), blocks{blocks_along(n.x), blocks_along(n.y), blocks_along(n.z)};
  if (blocks.count() > 0) {
    Buffer<float> variances(ctx, blocks.count());
    for_each_voxel(ctx, blocks, BlockVarianceBody{fixed.view(), {variances.data(), blocks}});
    const std::vector<float> variance = variances.to_host(ctx);
    const double least = least_variance(fixed, "the fixed image");
    for (std::size_t i = 0; i < variance.size(); ++i)
      if (variance[i] > least)
        for (const std::size_t b :
             {i % blocks.x, i / blocks.x % blocks.y, i / (std::size_t(blocks.x) * blocks.y)})
          corners_.push_back(int(b) * block::stride);
  }
  for (std::size_t c = 0; c < corners_.size(); c += 3)
    centres_.push_back(Eigen::Vector3d(corners_[c], corners_[c + 1], corners_[c + 2]) +
                       Eigen::Vector3d::Constant(0.5 * (block::width - 1)));
  found_.resize(centres_.size());
  device_corners_ = Buffer<int>(ctx, corners_);
  matches_ = Buffer<BlockMatch>(ctx, corners_.size() / 3);
}

void BlockMatching::match(Context& ctx, const Eigen::Affine3d& world, double weight,
                          std::vector<PointMatch>& all) {
  if (blocks() == 0) return;
  warp_values(ctx, moving_.view(), index_map(fixed_.geometry(), world, moving_.geometry()),
              {nullptr, fixed_.extent()}, warped_.view());
  const BlockMatchInput in{fixed_.view(), std::as_const(warped_).view(), device_corners_.data(),
                           int(blocks()), least_variation_};
  backend::dispatch(ctx, [&](auto target) { match_blocks(target, in, matches_.data()); });
  ctx.copy_to_host(found_.data(), matches_.data(), found_.size() * sizeof(BlockMatch));
  const Eigen::Affine3d to_world = fixed_.geometry().index_to_world();
  for (std::size_t b = 0; b < found_.size(); ++b) {
    const BlockMatch& m = found_[b];
    if (!(m.correlation > 0)) continue;
    const Eigen::Vector3d& centre = centres_[b];
    all.push_back({to_world * centre, to_world * (centre + Eigen::Vector3d(m.x, m.y, m.z)),
                   m.correlation, weight});
  }
}

}  // namespace freeflow
