// Private: how well a displacement on cells brings two grids of descriptors together, how large it
// is, and where the other direction confirms it.
#pragma once

#include <cmath>

#include <freeflow/core/reduce.h>
#include <freeflow/deform/sampling_body.h>
#include <freeflow/registration/search/displacement_search_body.h>

namespace freeflow {

/// Terms: the sum of the voxels' mean squares without the displacement, the same with it, the
/// number of voxels that have both.
struct StartFitBody : SumBody {
  VolumeView<const MindRecord> fixed, moving;
  Extent core;
  int margin[3], width;
  FieldView<const float> u;  // voxels of the cells' grid

  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    const int x = int(i % core.x), y = int(i / core.x % core.y),
              z = int(i / (std::size_t(core.x) * core.y));
    const int px = x + margin[0], py = y + margin[1], pz = z + margin[2];
    const MindRecord f = fixed(px, py, pz);
    search::Squares before, after;
    search::add_squares(f, moving(px, py, pz), before);
    const float scale = 1.0f / float(width), half = 0.5f * float(width - 1);
    const Vec3f p{(float(x) - half) * scale, (float(y) - half) * scale, (float(z) - half) * scale};
    const auto moved = [&](int c, int at) {
      return at + int(floorf(sample_linear_clamped(u.plane(c), p) * float(width) + 0.5f));
    };
    search::add_squares(f, search::record_at(moving, moved(0, px), moved(1, py), moved(2, pz)),
                        after);
    if (before.channels == 0 || after.channels == 0) return 0;
    if (term == 2) return 1;
    const search::Squares& s = term == 0 ? before : after;
    return double(s.sum) / (65025.0 * double(s.channels));
  }
};

struct SquaredLength {
  FieldView<const float> u;
  float spacing[3];
  FREEFLOW_HD double of(std::size_t i) const {
    double sum = 0;
    for (int c = 0; c < 3; ++c) {
      const double mm = double(u.data[std::size_t(c) * u.extent.count() + i]) * double(spacing[c]);
      sum = fma_(mm, mm, sum);
    }
    return sum;
  }
};
/// Terms: the sum of the squares of the lengths; of cells in whose middle the moving image shows
/// something where it lies, that sum and the sum of the fourth powers. Beyond its end no image says
/// what moves.
struct LengthPowersBody : SumBody {
  SquaredLength length;
  VolumeView<const MindRecord> moving;
  int margin[3], width;

  FREEFLOW_HD bool has_counterpart(std::size_t i) const {
    const Extent n = length.u.extent;
    const int cell[] = {int(i % std::size_t(n.x)), int(i / std::size_t(n.x) % std::size_t(n.y)),
                        int(i / (std::size_t(n.x) * std::size_t(n.y)))};
    int at[3];
    for (int a = 0; a < 3; ++a) at[a] = margin[a] + cell[a] * width + width / 2;
    return search::record_at(moving, at[0], at[1], at[2]).present != 0;
  }
  FREEFLOW_HD double operator()(std::size_t i, int term) const {
    const double squared = length.of(i);
    if (term == 0) return squared;
    if (!has_counterpart(i)) return 0;
    return term == 1 ? squared : squared * squared;
  }
};
struct LargestSquaredLengthBody : MaxBody {
  SquaredLength length;
  FREEFLOW_HD double operator()(std::size_t i, int) const { return length.of(i); }
};

/// NaN, not known, where the other direction leads too far from where it began.
struct ConfirmBody {
  SquaredLength disagreement;
  double largest_squared;  // mm^2
  FieldView<float> u;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    if (disagreement.of(u.extent.offset(x, y, z)) <= largest_squared) return;
    for (int c = 0; c < 3; ++c) u.plane(c)(x, y, z) = NAN;
  }
};

/// What is not known becomes the mean of those neighbours that are.
struct ContinueBody {
  KnownMean mean;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    mean.write(x, y, z, mean.known(x, y, z) ? 0 : 1);
  }
};

}  // namespace freeflow
