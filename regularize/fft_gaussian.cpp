#include <freeflow/regularize/fft_gaussian.h>
#include <freeflow/regularize/fft_padding_body.h>

#include <cmath>
#include <numbers>

#include <freeflow/core/for_each_voxel.h>
#include <freeflow/regularize/fft_gaussian_body.h>
#include <freeflow/regularize/gaussian.h>

namespace freeflow {

namespace {

int radius(double sigma) { return sigma > 0 ? int(gaussian_window(sigma).weights.size()) / 2 : 0; }

Padding padding_for(Extent n, const Eigen::Vector3d& sigma) {
  Padding p{n, {}, 0, {radius(sigma.x()), radius(sigma.y()), radius(sigma.z())}};
  p.size = {fast_fft_size(n.x + 2 * p.margin[0]), fast_fft_size(n.y + 2 * p.margin[1]),
            fast_fft_size(n.z + 2 * p.margin[2])};
  p.row = RealFft::row_floats(p.size);
  return p;
}

/// The spectrum of a symmetric window on a circle of `size` voxels.
std::vector<float> spectrum_of(double sigma, int size, int frequencies, double scale) {
  std::vector<float> spectrum(frequencies, static_cast<float>(scale));
  if (sigma == 0) return spectrum;
  const std::vector<float> window = gaussian_window(sigma).weights;
  const int middle = int(window.size()) / 2;
  for (int k = 0; k < frequencies; ++k) {
    double sum = window[middle];
    for (int j = 1; j <= middle; ++j)
      sum += 2.0 * window[middle + j] * std::cos(2 * std::numbers::pi * k * j / size);
    spectrum[k] = float(scale * sum);
  }
  return spectrum;
}

}  // namespace

FftGaussian::FftGaussian(Context& ctx, Extent extent, const Eigen::Vector3d& sigma)
    : padding_(padding_for(extent, sigma)), field_(ctx, RealFft::floats(padding_.size, 3)),
      field_transform_(ctx, padding_.size, 3), volume_transform_(ctx, padding_.size, 1) {
  const Extent size = padding_.size;
  spectrum_[0] = Buffer<float>(
      ctx, spectrum_of(sigma.x(), size.x, size.x / 2 + 1, 1.0 / double(size.count())));
  spectrum_[1] = Buffer<float>(ctx, spectrum_of(sigma.y(), size.y, size.y, 1));
  spectrum_[2] = Buffer<float>(ctx, spectrum_of(sigma.z(), size.z, size.z, 1));
}

void FftGaussian::apply(Context& ctx, const float* in, float* out, int planes) const {
  const RealFft& transform = planes == 3 ? field_transform_ : volume_transform_;
  const Extent size = padding_.size, n = padding_.n;
  float* field = field_.data();
  for_each_voxel(ctx, Extent{size.x, size.y, size.z * planes}, PadBody{padding_, in, field, false});
  transform.forward(ctx, field);
  for_each_voxel(ctx, Extent{size.x / 2 + 1, size.y, size.z * planes},
                 GaussianSpectrumBody{spectrum_[0].data(), spectrum_[1].data(), spectrum_[2].data(),
                                      size, field});
  transform.inverse(ctx, field);
  for_each_voxel(ctx, Extent{n.x, n.y, n.z * planes}, CropBody{padding_, field, out, SIZE_MAX});
}

}  // namespace freeflow
