#include <freeflow/regularize/symmetric_kl.h>

#include <omp.h>

#include <algorithm>

#include <freeflow/core/error.h>
#include <freeflow/core/for_each_voxel.h>
#include <freeflow/regularize/symmetric_kl_body.h>

namespace freeflow {

std::optional<KlKernel> parse_kl_kernel(std::string_view name) {
  if (name == "recompute") return KlKernel::recompute;
  if (name == "reuse") return KlKernel::reuse;
  return std::nullopt;
}

std::vector<BlockShape> kl_block_shapes() {
#define SHAPE(X, Y) BlockShape{X, Y},
  return {FREEFLOW_KL_SHAPES(SHAPE)};
#undef SHAPE
}

SymmetricKl::SymmetricKl(Context& ctx, Extent extent, KlKernel kernel, BlockShape shape)
    : extent_(extent), kernel_(kernel), shape_(shape), work_(ctx, extent.count(), 1), sum_(ctx, 1) {
  const std::vector<BlockShape> shapes = kl_block_shapes();
  require(std::find(shapes.begin(), shapes.end(), shape) != shapes.end(),
          "there is no kernel with blocks of " + std::to_string(shape.x) + "x" +
              std::to_string(shape.y) + " threads; take 32x16");
  require(extent.count() <= UINT32_MAX,
          "the symmetric Kullback-Leibler term takes fields of less than 2^32 voxels");
  if (!ctx.device().is_cuda())
    windows_ = Buffer<float>(ctx, kl_window_floats(extent) * ctx.threads());
}

void SymmetricKl::run(Context& ctx, FieldView<const float> u, double weight, FieldView<float> force,
                      bool add) const {
  require(u.extent == extent_ && force.extent == extent_,
          "the field does not have the term's extent");
  const KlForce body{u, force, float(weight / double(extent_.count())), add, extent_.count()};
  backend::dispatch(ctx,
                    [&](auto target) { kl_force(target, body, kernel_, shape_, windows_.data()); });
}

void SymmetricKl::force(Context& ctx, FieldView<const float> u, double weight,
                        FieldView<float> force) const {
  run(ctx, u, weight, force, false);
}

void SymmetricKl::add_force(Context& ctx, FieldView<const float> u, double weight,
                            FieldView<float> force) const {
  run(ctx, u, weight, force, true);
}

void SymmetricKl::energy(Context& ctx, FieldView<const float> u, double smallest_jacobian,
                         double* energy) const {
  require(smallest_jacobian > 0, "the smallest determinant must be positive");
  reduce(ctx, extent_.count(), 1, KlEnergyBody{{}, u, float(smallest_jacobian)}, work_,
         sum_.data());
  for_each_voxel(ctx, Extent{1, 1, 1}, KlMeanBody{sum_.data(), double(extent_.count()), energy});
}

KlKernelResources kl_kernel_resources(const Context& ctx, KlKernel kernel, BlockShape shape) {
  KlKernelResources resources;
  backend::dispatch(ctx, [&](auto target) { resources = kl_resources(target, kernel, shape); });
  return resources;
}

namespace {

constexpr int block_rows = 8, block_slices = 32;

/// What one block keeps: the fluxes across x and y of the plane at hand (`block_rows` rows and one
/// on either side), those across z of three planes, and the sums across x and y of two.
struct Window {
  Window(float* memory, Extent n) : nx(n.x), data(memory) {}
  static std::size_t floats(Extent n) {
    return std::size_t(n.x) * (6 * (block_rows + 2) + (9 + 6) * block_rows);
  }

  float* across_xy(int c, int axis, int row) const {
    return data + std::size_t((c * 2 + axis) * (block_rows + 2) + row + 1) * nx;
  }
  float* across_z(int c, int z, int row) const {
    return data + std::size_t(6 * (block_rows + 2) + (c * 3 + z % 3) * block_rows + row) * nx;
  }
  float* sum_xy(int c, int z, int row) const {
    return data + std::size_t(6 * (block_rows + 2) + (9 + c * 2 + z % 2) * block_rows + row) * nx;
  }

  std::size_t nx;
  float* data;
};

/// The fluxes of one row; those across z only for the block's own rows (z_out not null).
void flux_row(FieldView<const float> u, int y, int z, float* const xy_out[6],
              float* const z_out[3]) {
  const Extent n = u.extent;
  const std::size_t plane = n.count(), slice = std::size_t(n.x) * n.y,
                    row = (std::size_t(z) * n.y + y) * n.x;
  const std::size_t y_up = y + 1 < n.y ? n.x : 0, y_down = y > 0 ? n.x : 0,
                    z_up = z + 1 < n.z ? slice : 0, z_down = z > 0 ? slice : 0;
  const float sy = difference_scale(y, n.y), sz = difference_scale(z, n.z);
  const auto at = [&](int x, int up, int down) {
    float d[3][3], q[3][3];
    const float s[3] = {difference_scale(x, n.x), sy, sz};
    for (int c = 0; c < 3; ++c) {
      const float* p = u.data + c * plane + row + x;
      d[c][0] = p[up] - *(p - down);
      d[c][1] = p[y_up] - *(p - y_down);
      d[c][2] = p[z_up] - *(p - z_down);
    }
    kl_flux(d, s, q);
    for (int c = 0; c < 3; ++c) {
      xy_out[c * 2][x] = q[c][0];
      xy_out[c * 2 + 1][x] = q[c][1];
      if (z_out[c]) z_out[c][x] = q[c][2];
    }
  };
  at(0, n.x > 1 ? 1 : 0, 0);
#pragma GCC ivdep
  for (int x = 1; x < n.x - 1; ++x) at(x, 1, 1);
  if (n.x > 1) at(n.x - 1, 0, 1);
}

class KlBlock {
 public:
  KlBlock(const KlForce& body, float* memory, int first_row, int first_slice)
      : body_(body), n_(body.u.extent), window_(memory, n_), y0_(first_row),
        y1_(std::min(first_row + block_rows, n_.y)), z0_(first_slice),
        z1_(std::min(first_slice + block_slices, n_.z)) {}

  void run() const {
    const int last = std::min(z1_, n_.z - 1);
    for (int z = std::max(z0_ - 1, 0); z <= last; ++z) {
      for (int y = std::max(y0_ - 1, 0); y <= std::min(y1_, n_.y - 1); ++y) fluxes(y, z);
      for (int y = y0_; y < y1_; ++y) sum_across_xy(y, z);
      if (z > z0_) finish(z - 1);
    }
    if (z1_ == n_.z) finish(n_.z - 1);
  }

 private:
  void fluxes(int y, int z) const {
    float *xy[6], *across_z[3];
    const bool own = y >= y0_ && y < y1_;
    for (int c = 0; c < 3; ++c) {
      for (int axis = 0; axis < 2; ++axis) xy[c * 2 + axis] = window_.across_xy(c, axis, y - y0_);
      across_z[c] = own ? window_.across_z(c, z, y - y0_) : nullptr;
    }
    flux_row(body_.u, y, z, xy, across_z);
  }

  void sum_across_xy(int y, int z) const {
    for (int c = 0; c < 3; ++c) {
      const float *qx = window_.across_xy(c, 0, y - y0_), *own = window_.across_xy(c, 1, y - y0_);
      const float* up = y + 1 < n_.y ? own + n_.x : own;
      const float* down = y > 0 ? own - n_.x : own;
      const float up_sign = y + 1 < n_.y ? 1.0f : -1.0f, down_sign = y > 0 ? 1.0f : -1.0f;
      float* sum = window_.sum_xy(c, z, y - y0_);
      for (int x = 0; x < n_.x; ++x) {
        const float x_up = x + 1 < n_.x ? qx[x + 1] : -qx[x], x_down = x > 0 ? qx[x - 1] : -qx[x];
        sum[x] = (x_up - x_down) + (up_sign * up[x] - down_sign * down[x]);
      }
    }
  }

  void finish(int z) const {
    for (int c = 0; c < 3; ++c)
      for (int y = y0_; y < y1_; ++y) {
        const bool has_up = z + 1 < n_.z, has_down = z > 0;
        const float* up = window_.across_z(c, has_up ? z + 1 : z, y - y0_);
        const float* down = window_.across_z(c, has_down ? z - 1 : z, y - y0_);
        const float up_sign = has_up ? 1.0f : -1.0f, down_sign = has_down ? 1.0f : -1.0f;
        const float* sum = window_.sum_xy(c, z, y - y0_);
        const std::size_t i = c * n_.count() + (std::size_t(z) * n_.y + y) * n_.x;
        for (int x = 0; x < n_.x; ++x)
          body_.store(i + x, sum[x] + (up_sign * up[x] - down_sign * down[x]));
      }
  }

  const KlForce& body_;
  const Extent n_;
  const Window window_;
  const int y0_, y1_, z0_, z1_;
};

}  // namespace

std::size_t kl_window_floats(Extent n) { return (Window::floats(n) + 15) / 16 * 16; }

void kl_force(backend::Cpu cpu, const KlForce& body, KlKernel, BlockShape, float* windows) {
  const Extent n = body.u.extent;
  const int across = (n.y + block_rows - 1) / block_rows,
            along = (n.z + block_slices - 1) / block_slices;
#pragma omp parallel for schedule(dynamic) num_threads(cpu.threads) if (n.count() >= 8192)
  for (int task = 0; task < across * along; ++task) {
    float* memory = windows + kl_window_floats(n) * std::size_t(omp_get_thread_num());
    KlBlock(body, memory, task % across * block_rows, task / across * block_slices).run();
  }
}

}  // namespace freeflow
