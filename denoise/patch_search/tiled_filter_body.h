// What lets half precision leave out candidates without ever losing one of the m best: the bound on
// its error.
//
// A patch a becomes a' (at most 128 values: sums of `group` neighbouring values over sqrt(group),
// orthonormal, so that distances never grow), rounded to half precision a^. With e(a) = |a' - a^|:
// |a - b| >= |a' - b'| >= |a^ - b^| - e(a) - e(b). So what is among the m best, whose worst has the
// distance `bound`, has |a^ - b^|^2 <= (sqrt(bound) + e(a) + e(b))^2, and |a^ - b^|^2 = |a^|^2 +
// |b^|^2 - 2 a^b^. The products of halves are exact in float; tensor cores add them in blocks of 16
// and cut off what lies below 2^-25 of the largest term, so that the sum over 128 values is wrong
// by less than 2^-17 |a^||b^| (Fasi et al. 2021, "Numerical behavior of NVIDIA tensor cores").
#pragma once

#include <cmath>

#include <freeflow/core/host_device.h>

namespace freeflow {

struct TiledFilter {
  static constexpr int width = 128;  ///< halves in a row

  int group = 1;

  static TiledFilter of_length(int length) { return {(length + width - 1) / width}; }

  /// Value k of a'.
  FREEFLOW_HD double projected(const float* patch, int length, int k) const {
    double sum = 0;
    for (int i = k * group; i < (k + 1) * group && i < length; ++i) sum += patch[i];
    return group == 1 ? sum : sum / sqrt(double(group));
  }

  /// Of a product of tensor cores, relative to |a^||b^|.
  static constexpr float half_product = 7.63e-6f;

  /// What |b^|^2 - 2 a^b^ must not exceed. norm = |a^|^2, error = e(a); max_norm and max_error are
  /// the largest of all patches; product: by how much a product may be wrong, relative to |a^||b^|.
  static FREEFLOW_HD float cutoff(float bound, float norm, float error, float max_norm,
                                  float max_error, float product) {
    const float reach = sqrtf(bound) + error + max_error;
    const float product_error = 2 * product * sqrtf(norm * max_norm);
    const float rounding = 5e-7f * (norm + max_norm) + 1e-5f * reach * reach;
    return reach * reach + product_error + rounding - norm;
  }
};

}  // namespace freeflow
