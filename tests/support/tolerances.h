// Every tolerance of the tests, with its reason.
#pragma once

namespace freeflow::test {

/// One interpolation or a few float operations on values of order 1 (float has 6e-8 per operation).
inline constexpr double float_rounding = 2e-6;
/// Sums of a few hundred float products of order 1.
inline constexpr double float_sum = 2e-5;
/// Analytic gradient against central differences of the double-precision energy (METHODS.md,
/// section 0).
inline constexpr double gradient_relative = 1e-3;
/// NMI from fixed-point weights of 1/65536 against the double-precision oracle (issue 3: <= 1e-6).
inline constexpr double nmi_fixed_point = 1e-6;
/// 1 - eta from 16-bit intensities against the double-precision oracle: 1e-6 from 3000 voxels on
/// (ratio_histogram.h).
inline constexpr double correlation_ratio_fixed_point = 1e-6;
/// Mean LNCC from float window sums: variances of intensities in [-0.5, 0.5] err by 1e-8, flat
/// windows count from 1e-6 on.
inline constexpr double lncc_value = 1e-5;
/// CPU against CUDA after a whole registration, where a Fourier transform rounds differently
/// (METHODS.md, section 0).
inline constexpr double parity_mean_voxels = 0.01, parity_max_voxels = 0.1;
/// Mean residual of a written inverse, voxels (issue 2).
inline constexpr double inverse_mean_voxels = 0.05;

}  // namespace freeflow::test
