// Private: the mathematics of displacement_search.h. Costs are whole numbers, displacements whole
// voxels, so that every device finds the same ones.
#pragma once

#include <cmath>
#include <cstdint>

#include <freeflow/core/dispatch.h>
#include <freeflow/core/portable_math.h>
#include <freeflow/core/reduce.h>
#include <freeflow/core/views.h>
#include <freeflow/similarity/mind_record.h>

namespace freeflow {

/// The displacements that a search tries: `step` voxels times -reach to reach along each axis, x
/// fastest.
struct SearchWindow {
  static constexpr int largest_reach = 8, largest_span = 2 * largest_reach + 1,
                       largest_count = largest_span * largest_span * largest_span;
  int reach[3], step;

  FREEFLOW_HD int span(int axis) const { return 2 * reach[axis] + 1; }
  FREEFLOW_HD int count() const { return span(0) * span(1) * span(2); }
  /// Displacement number d along an axis: the number of its value there.
  FREEFLOW_HD int index(int axis, int d) const {
    return axis == 0 ? d % span(0) : axis == 1 ? d / span(0) % span(1) : d / (span(0) * span(1));
  }
  /// The value of that number, in voxels.
  FREEFLOW_HD int offset(int axis, int i) const { return step * (i - reach[axis]); }
};

/// The middle of a cell's window along an axis, in voxels; planes of `cells`, null: zero.
FREEFLOW_HD int window_middle(const float* middle, std::size_t cells, int axis, std::size_t c) {
  return middle ? int(middle[axis * cells + c]) : 0;
}

/// What a search compares: both images' descriptors on one grid, and the cells on it.
struct CellCosts {
  /// Voxels of a cell that count: two along each axis, the others say the same again.
  static constexpr int along = 2, samples = along * along * along;
  VolumeView<const MindRecord> fixed, moving;
  Extent cells;
  int width;     // of a cell, voxels
  int first[3];  // the first cell's first voxel
  SearchWindow window;
  const float* middle;    // of the cells' windows
  std::uint16_t* costs;   // a row of displacements per cell
  std::uint32_t* levels;  // per cell the mean and the least of its row

  /// Sample i of a cell that begins at voxel `corner`.
  FREEFLOW_HD void locate_sample(int i, const int* corner, int* at) const {
    for (int a = 0; a < 3; ++a) at[a] = corner[a] + (i >> a & 1) * (width / along);
  }
};

namespace search {

/// A voxel's record; one without any channel outside the grid.
FREEFLOW_HD MindRecord record_at(VolumeView<const MindRecord> v, int x, int y, int z) {
  const Extent n = v.extent;
  const bool inside = (x >= 0) & (y >= 0) & (z >= 0) & (x < n.x) & (y < n.y) & (z < n.z);
  return inside ? v(x, y, z) : MindRecord{{0, 0, 0}, 0};
}

/// Squared differences of channels that both records have, and the number of those.
struct Squares {
  std::uint32_t sum = 0, channels = 0;
};
FREEFLOW_HD void add_squares(const MindRecord& f, const MindRecord& m, Squares& s) {
  const std::uint32_t present = f.present & m.present;
  if (present == 0) return;
  for (int k = 0; k < MindRecord::count; ++k) {
    const int a = int(f.channels[k / 4] >> 8 * (k % 4) & 255u),
              b = int(m.channels[k / 4] >> 8 * (k % 4) & 255u);
    const std::uint32_t has = present >> k & 1u;
    s.sum += has * std::uint32_t((a - b) * (a - b));
    s.channels += has;
  }
}

/// A displacement's mean square in 16 bits, above it the number of its channels.
FREEFLOW_HD std::uint32_t packed(const Squares& s) {
  return s.channels > 0 ? s.sum / s.channels | s.channels << 16 : 0u;
}

/// The mean square where channels are missing: those count as the cell's mean, which favours no
/// displacement.
struct NeutralCost {
  static constexpr std::uint32_t all = CellCosts::samples * MindRecord::count;
  std::uint32_t mean;
  /// total: of mean square times channels, over a row; channels: their number.
  static FREEFLOW_HD NeutralCost of(std::uint64_t total, std::uint64_t channels) {
    return {channels > 0 ? std::uint32_t(total / channels) : 0u};
  }
  FREEFLOW_HD std::uint16_t operator()(std::uint32_t entry) const {
    const std::uint32_t channels = entry >> 16;
    return std::uint16_t(((entry & 65535u) * channels + mean * (all - channels)) / all);
  }
};

}  // namespace search

/// Takes a further channel's costs into those of the channels before it: the weighted mean, and the
/// levels of that.
struct AddChannelCostsBody {
  Extent cells;
  int count;  // of displacements
  const std::uint16_t* further;
  std::uint16_t* costs;
  std::uint32_t* levels;
  std::uint32_t share;  // of the further one, in 65536ths
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    const std::size_t c = cells.offset(x, y, z), row = c * std::size_t(count);
    std::uint64_t total = 0;
    std::uint32_t least = 65535;
    for (std::size_t i = row; i < row + std::size_t(count); ++i) {
      const std::uint32_t mean =
          (costs[i] * (65536u - share) + further[i] * share + 32768u) >> 16;  // below 2^32
      costs[i] = std::uint16_t(mean);
      total += mean;
      least = mean < least ? mean : least;
    }
    levels[2 * c] = std::uint32_t(total / std::uint64_t(count));
    levels[2 * c + 1] = least;
  }
};

/// The mean and the least of the cells' costs, summed: terms 0 and 1.
struct CostLevelsBody : SumBody {
  const std::uint32_t* levels;
  FREEFLOW_HD double operator()(std::size_t c, int term) const {
    return double(levels[2 * c + std::size_t(term)]);
  }
};

/// Of every cell the displacement of the least cost + weight |displacement - smooth|^2; among
/// equals the shorter one, then the one of the lower number.
struct CellChoice {
  Extent cells;
  SearchWindow window;
  const std::uint16_t* costs;
  const float *middle, *smooth;  // planes of cells; null: zero
  const double* levels;          // the sums of CostLevelsBody
  double weight;                 // in parts of the mean contrast per squared step
  float aspect[3];               // a voxel's sides over the step's length
  float* chosen;                 // planes of cells

  /// Cost per squared step.
  FREEFLOW_HD float price() const {
    return float(weight * (levels[0] - levels[1]) / double(cells.count()));
  }
  FREEFLOW_HD float square(int axis, int at, std::size_t c) const {
    const float s = smooth ? smooth[std::size_t(axis) * cells.count() + c] : float(at);
    const float d = (float(at) - s) * aspect[axis];
    return d * d;
  }
  static FREEFLOW_HD float score(float price, float x2, float y2, float z2, std::uint16_t cost) {
    return fma_(price, (z2 + y2) + x2, float(cost));
  }
  static FREEFLOW_HD int length(int x, int y, int z) { return x * x + y * y + z * z; }
};

void compute_cell_costs(backend::Cpu, const CellCosts& in);
void compute_cell_costs(backend::Cuda, const CellCosts& in);
void choose_cells(backend::Cpu, const CellChoice& in);
void choose_cells(backend::Cuda, const CellChoice& in);

/// Writes the mean of a cell and its neighbours within `reach` that are known, not NaN; `unknown`
/// where none is.
struct KnownMean {
  FieldView<const float> in;
  FieldView<float> out;
  float unknown;

  FREEFLOW_HD bool known(int x, int y, int z) const {
    const float value = in.plane(0)(x, y, z);
    return value == value;
  }
  FREEFLOW_HD void write(int x, int y, int z, int reach) const {
    const Extent n = in.extent;
    const auto first = [&](int at) { return at >= reach ? at - reach : 0; };
    float sum[3] = {0, 0, 0}, number = 0;
    for (int k = first(z); k <= z + reach && k < n.z; ++k)
      for (int j = first(y); j <= y + reach && j < n.y; ++j)
        for (int i = first(x); i <= x + reach && i < n.x; ++i) {
          if (!known(i, j, k)) continue;
          for (int c = 0; c < 3; ++c) sum[c] += in.plane(c)(i, j, k);
          number += 1;
        }
    for (int c = 0; c < 3; ++c) out.plane(c)(x, y, z) = number > 0 ? sum[c] / number : unknown;
  }
};

struct CellMeanBody {
  KnownMean mean;
  FREEFLOW_HD void operator()(int x, int y, int z) const { mean.write(x, y, z, 1); }
};

/// Whole voxels, half away from what is less.
struct WholeVoxelsBody {
  FieldView<const float> in;
  FieldView<float> out;
  FREEFLOW_HD void operator()(int x, int y, int z) const {
    for (int c = 0; c < 3; ++c) out.plane(c)(x, y, z) = floorf(in.plane(c)(x, y, z) + 0.5f);
  }
};

}  // namespace freeflow
