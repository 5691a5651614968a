#include <freeflow/regularize/fft_padding_body.h>
#include <freeflow/regularize/navier.h>

#include <cmath>
#include <numbers>
#include <vector>

#include <freeflow/core/error.h>
#include <freeflow/core/for_each_voxel.h>
#include <freeflow/regularize/navier_body.h>

namespace freeflow {

namespace {

int torus_size(int n) { return fast_fft_size(n + n / 4 + 3); }

Padding padding_for(Extent n) {
  Padding p{n, {torus_size(n.x), torus_size(n.y), torus_size(n.z)}, 0, {0, 0, 0}};
  p.row = RealFft::row_floats(p.size);
  return p;
}

}  // namespace

void Viscosity::validate() const {
  require(mu >= 1e-6 && mu <= 1e6 && lambda + mu >= 0 && lambda <= 1e6,
          "Viscosity::mu must lie between 0.000001 and 1000000, Viscosity::lambda between -mu and "
          "1000000");
}

NavierVelocity::NavierVelocity(Context& ctx, const Geometry& grid, const Viscosity& viscosity)
    : padding_(padding_for(grid.extent)), spacing_{float(grid.spacing.x()), float(grid.spacing.y()),
                                                   float(grid.spacing.z())},
      mu_(float(viscosity.mu)), lambda_(float(viscosity.lambda)),
      field_(ctx, RealFft::floats(padding_.size, 3)), transform_(ctx, padding_.size, 3) {
  viscosity.validate();
  for (int a = 0; a < 3; ++a) {
    const double h = grid.spacing[a];
    std::vector<float> sine, second;
    for (int k = 0; k < padding_.size[a]; ++k) {
      const double w = 2 * std::numbers::pi * k / padding_.size[a];
      sine.push_back(2 * k == padding_.size[a] ? 0.0f : float(std::sin(w) / h));
      second.push_back(float((2 - 2 * std::cos(w)) / (h * h)));
    }
    sine_[a] = Buffer<float>(ctx, sine);
    second_[a] = Buffer<float>(ctx, second);
  }
}

void NavierVelocity::apply(Context& ctx, FieldView<const float> force,
                           FieldView<float> velocity) const {
  const Extent n = padding_.n, size = padding_.size;
  require(force.extent == n && velocity.extent == n, "the field does not have the fluid's extent");
  float* field = field_.data();
  for_each_voxel(ctx, Extent{size.x, size.y, 3 * size.z},
                 PadBody{padding_, force.data, field, true});
  transform_.forward(ctx, field);
  NavierSpectrumBody body{{},
                          {},
                          {spacing_.x, spacing_.y, spacing_.z},
                          mu_,
                          mu_ + lambda_,
                          float(1.0 / double(size.count())),
                          size,
                          field};
  for (int a = 0; a < 3; ++a) body.sine[a] = sine_[a].data(), body.second[a] = second_[a].data();
  for_each_voxel(ctx, Extent{size.x / 2 + 1, size.y, size.z}, body);
  transform_.inverse(ctx, field);
  const std::size_t rest =
      padding_.padded((n.x + size.x) / 2, (n.y + size.y) / 2, (n.z + size.z) / 2);
  for_each_voxel(ctx, Extent{n.x, n.y, 3 * n.z}, CropBody{padding_, field, velocity.data, rest});
}

}  // namespace freeflow
