// Patches to search among, and a search of host arrays.
#pragma once

#include <vector>

#include <freeflow/core/buffer.h>
#include <freeflow/denoise/patch_search/patch_search.h>

#include "support/phantoms.h"

namespace freeflow::test {

struct Neighbours {
  std::vector<std::int32_t> index;
  std::vector<float> distance;
  friend bool operator==(const Neighbours&, const Neighbours&) = default;
};

/// Patches of a signed distance to a plane with noise, as they come in a band: neighbouring rows
/// are shifted copies.
inline std::vector<float> noisy_patches(int count, int length, float noise, unsigned seed) {
  const int stride = PatchView::stride_of(length);
  const std::vector<float> tilt = random_values(std::size_t(count) * 4, seed, -1, 1),
                           grain =
                               random_values(std::size_t(count) * length, seed + 1, -noise, noise);
  std::vector<float> values(std::size_t(count) * stride, 0.0f);
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < length; ++k) {
      const float* t = &tilt[4 * std::size_t(i)];
      const int x = k % 5 - 2, y = k / 5 % 5 - 2, z = k / 25 - 2;
      values[std::size_t(i) * stride + k] = 3 * t[3] + t[0] * float(x) + t[1] * float(y) +
                                            t[2] * float(z) + grain[std::size_t(i) * length + k];
    }
  return values;
}

inline Neighbours search(Context& ctx, SearchStrategy strategy, const std::vector<float>& values,
                         int length, int m, int first = 0, int rows = -1) {
  const int stride = PatchView::stride_of(length), count = int(values.size() / std::size_t(stride));
  if (rows < 0) rows = count - first;
  const Buffer<float> patches(ctx, values);
  const Buffer<std::int32_t> index(ctx, std::size_t(rows) * m);
  const Buffer<float> distance(ctx, std::size_t(rows) * m);
  find_similar(ctx, strategy, {patches.data(), count, length, stride}, first, rows,
               {index.data(), distance.data(), m});
  return {index.to_host(ctx), distance.to_host(ctx)};
}

}  // namespace freeflow::test
