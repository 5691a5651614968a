// Fourier transforms of real volumes against the definition in double.
#include <freeflow/core/fft.h>

#include <array>
#include <complex>
#include <numbers>

#include <freeflow/core/buffer.h>
#include <freeflow/core/error.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

class Fft : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Fft);

std::vector<float> in_rows(const std::vector<float>& voxels, Extent n, int batch) {
  std::vector<float> rows(RealFft::floats(n, batch), 0.0f);
  for (std::size_t r = 0; r < voxels.size() / n.x; ++r)
    std::copy_n(voxels.begin() + r * n.x, n.x, rows.begin() + r * RealFft::row_floats(n));
  return rows;
}

std::complex<double> defined(const std::vector<float>& voxels, std::size_t first, Extent n, int kx,
                             int ky, int kz) {
  std::complex<double> sum = 0;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        const double turns = double(kx * x) / n.x + double(ky * y) / n.y + double(kz * z) / n.z;
        sum += double(voxels[first + (std::size_t(z) * n.y + y) * n.x + x]) *
               std::polar(1.0, -2 * std::numbers::pi * turns);
      }
  return sum;
}

TEST_P(Fft, IsTheTransformAndItsInverse) {
  for (const Extent n :
       {Extent{12, 8, 20}, Extent{16, 4, 1}, Extent{1, 9, 4}, Extent{7, 1, 3}, Extent{10, 15, 6}}) {
    constexpr int batch = 3;
    const std::vector<float> voxels = random_values(batch * n.count(), 3, -1, 1);
    const Buffer<float> field(ctx, in_rows(voxels, n, batch));
    const RealFft fft(ctx, n, batch);
    fft.forward(ctx, field.data());
    const std::vector<float> spectrum = field.to_host(ctx);
    const int frequencies = n.x / 2 + 1;
    for (int b = 0; b < batch; ++b)
      for (const auto& [kx, ky, kz] : {std::array<int, 3>{0, 0, 0},
                                       {n.x / 2, n.y / 2, n.z - 1},
                                       {1 % frequencies, n.y - 1, n.z / 3}}) {
        const std::complex<double> expected = defined(voxels, b * n.count(), n, kx, ky, kz);
        const std::size_t at = 2 * (((b * n.z + kz) * std::size_t(n.y) + ky) * frequencies + kx);
        EXPECT_NEAR(spectrum[at], expected.real(), 2e-4)
            << n.x << ' ' << kx << ' ' << ky << ' ' << kz;
        EXPECT_NEAR(spectrum[at + 1], expected.imag(), 2e-4)
            << n.x << ' ' << kx << ' ' << ky << ' ' << kz;
      }
    fft.inverse(ctx, field.data());
    const std::vector<float> back = field.to_host(ctx);
    for (std::size_t i = 0; i < voxels.size(); ++i)
      ASSERT_NEAR(back[i / n.x * RealFft::row_floats(n) + i % n.x] / double(n.count()), voxels[i],
                  2e-6);
  }
}

TEST_P(Fft, IsTheSameForAnyThreads) {
  const Extent n{20, 36, 24};
  const std::vector<float> rows = in_rows(random_values(n.count(), 8), n, 1);
  const auto bits = [&](int threads) {
    Context c({}, threads);
    const Buffer<float> field(c, rows);
    RealFft(c, n, 1).forward(c, field.data());
    return field.to_host(c);
  };
  EXPECT_EQ(bits(1), bits(3));
}

TEST_P(Fft, FastSizesAreMultiplesOfFour) {
  EXPECT_EQ(fast_fft_size(1), 4);
  EXPECT_EQ(fast_fft_size(4), 4);
  EXPECT_EQ(fast_fft_size(61), 64);
  EXPECT_EQ(fast_fft_size(257), 288);
  EXPECT_THROW(RealFft(ctx, Extent{0, 4, 4}, 1), InvalidArgument);
}

TEST_P(Fft, AVolumeWhoseFloatsAnIntCannotCountIsRefused) {
  EXPECT_THROW(RealFft(ctx, Extent{1620, 1152, 1152}, 1), InvalidArgument) << "2.15e9 floats";
}

}  // namespace
}  // namespace freeflow
