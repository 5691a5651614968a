#include <freeflow/denoise/patch_search/reduced_patches.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <freeflow/core/parallel_errors.h>

namespace freeflow {

namespace {

constexpr int components = ReducedPatches::components, width = ReducedPatches::width,
              leaf = ReducedPatches::leaf;

constexpr double largest_value = 1e15;

using Vector = std::vector<double>;

double dot(const double* a, const double* b, int n) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += a[k] * b[k];
  return sum;
}

/// Orthonormal, or zero where a row depends on those before it. Twice is enough (Kahan, Parlett).
void orthonormalise(std::vector<Vector>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Vector& row = rows[i];
    const int n = int(row.size());
    const double before = std::sqrt(dot(row.data(), row.data(), n));
    double least = 1e-10 * before;
    for (int pass = 0; pass < 2; ++pass, least = 0.5) {
      for (std::size_t j = 0; j < i; ++j) {
        const double along = dot(row.data(), rows[j].data(), n);
        for (int k = 0; k < n; ++k) row[k] -= along * rows[j][k];
      }
      const double norm = std::sqrt(dot(row.data(), row.data(), n));
      const double scale = norm > least ? 1 / norm : 0;
      for (double& v : row) v *= scale;
    }
  }
}

/// The mean and the leading components of a sample of patches, by orthogonal iteration.
class Basis {
 public:
  explicit Basis(const PatchView& p) : length_(p.length), mean_(std::size_t(p.length)) {
    const int samples = std::min(p.count, 2048);
    std::vector<Vector> sample(samples, mean_);
    for (int s = 0; s < samples; ++s) {
      const float* patch = p.values + std::size_t(std::int64_t(s) * p.count / samples) * p.stride;
      for (int k = 0; k < length_; ++k) mean_[k] += (sample[s][k] = patch[k]) / samples;
    }
    for (Vector& x : sample)
      for (int k = 0; k < length_; ++k) x[k] -= mean_[k];
    std::mt19937 generator(1);
    rows_.assign(std::size_t(std::min(components, length_)), mean_);
    for (Vector& row : rows_)
      for (double& v : row) v = double(generator()) / 4294967296.0 - 0.5;
    orthonormalise(rows_);
    for (int round = 0; round < 6; ++round) improve(sample);
  }

  /// Writes the numbers of a patch; returns its distance from the mean.
  double reduce(const float* patch, Vector& x, float* numbers) const {
    for (int k = 0; k < length_; ++k) x[k] = patch[k] - mean_[k];
    const double norm = std::sqrt(dot(x.data(), x.data(), length_));
    std::array<double, components> along{};
    for (std::size_t i = 0; i < rows_.size(); ++i)
      along[i] = dot(x.data(), rows_[i].data(), length_);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (int k = 0; k < length_; ++k) x[k] -= along[i] * rows_[i][k];
    for (int i = 0; i < components; ++i) numbers[i] = float(along[i]);
    numbers[components] = float(std::sqrt(dot(x.data(), x.data(), length_)));
    return norm;
  }

 private:
  void improve(const std::vector<Vector>& sample) {
    std::vector<Vector> next(rows_.size(), Vector(std::size_t(length_)));
    for (const Vector& x : sample)
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        const double along = dot(x.data(), rows_[i].data(), length_);
        for (int k = 0; k < length_; ++k) next[i][k] += along * x[k];
      }
    rows_ = std::move(next);
    orthonormalise(rows_);
  }

  int length_;
  Vector mean_;
  std::vector<Vector> rows_;
};

struct Key {
  float value;
  std::int32_t index;
  friend bool operator<(const Key& a, const Key& b) {
    return a.value != b.value ? a.value < b.value : a.index < b.index;
  }
};

/// Where everything lies in scratch.
struct Layout {
  float *values, *numbers, *low, *high, *rows;
  Key* keys;
  std::int32_t* order;
  std::size_t bytes;

  Layout(const PatchView& p, std::byte* scratch) {
    const std::size_t n = std::size_t(p.count + leaf - 1) / leaf, slots = n * leaf;
    std::size_t at = 0;
    const auto take = [&]<class T>(T*& place, std::size_t values) {
      place = scratch ? reinterpret_cast<T*>(scratch + at) : nullptr;
      at += (values * sizeof(T) + 63) / 64 * 64;
    };
    take(values, slots * p.stride);
    take(numbers, slots * width);
    take(rows, slots * width);
    take(keys, slots);
    take(low, n * width);
    take(high, n * width);
    take(order, slots);
    bytes = at;
  }
};

/// Writes the numbers of all patches, as rows; returns the largest distance from the mean, infinity
/// where one is not a number.
double reduce_all(const PatchView& p, const Basis& basis, const Layout& l, int threads) {
  double farthest = 0;
  ParallelErrors errors;
#pragma omp parallel num_threads(threads) reduction(max : farthest)
  {
    Vector x;
    errors.run([&] { x.resize(std::size_t(p.length)); });
#pragma omp for schedule(static)
    for (int i = 0; i < p.count; ++i) {
      if (errors.failed()) continue;
      const double norm =
          basis.reduce(p.values + std::size_t(i) * p.stride, x, l.rows + std::size_t(i) * width);
      farthest = std::max(farthest, norm >= 0 ? norm : std::numeric_limits<double>::infinity());
      l.order[i] = i;
    }
  }
  errors.rethrow();
  return farthest;
}

/// Leaves [first, last) of the order; halves differ by one leaf at most.
struct Range {
  int first, last;
};

/// Orders the slots of a range so that its two halves lie on either side of the median.
void split(const Layout& l, int count, Range r, int middle) {
  const int begin = r.first * leaf, end = std::min(r.last * leaf, count);
  std::array<float, width> low, high;
  low.fill(std::numeric_limits<float>::max());
  high.fill(std::numeric_limits<float>::lowest());
  for (int i = begin; i < end; ++i) {
    const float* row = l.rows + std::size_t(l.order[i]) * width;
    for (int d = 0; d < width; ++d) {
      low[d] = std::min(low[d], row[d]);
      high[d] = std::max(high[d], row[d]);
    }
  }
  int widest = 0;
  for (int d = 1; d < width; ++d)
    if (high[d] - low[d] > high[widest] - low[widest]) widest = d;
  for (int i = begin; i < end; ++i)
    l.keys[i] = {l.rows[std::size_t(l.order[i]) * width + widest], l.order[i]};
  std::nth_element(l.keys + begin, l.keys + middle * leaf, l.keys + end);
  for (int i = begin; i < end; ++i) l.order[i] = l.keys[i].index;
}

void make_boxes(const Layout& l, int count, int threads) {
  std::vector<Range> ranges{{0, (count + leaf - 1) / leaf}}, next;
  while (!ranges.empty()) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (const Range& r : ranges) split(l, count, r, (r.first + r.last) / 2);
    next.clear();
    for (const Range& r : ranges) {
      const int middle = (r.first + r.last) / 2;
      if (middle - r.first > 1) next.push_back({r.first, middle});
      if (r.last - middle > 1) next.push_back({middle, r.last});
    }
    ranges.swap(next);
  }
}

/// The patches of a leaf, their numbers one component after the other, and the numbers' box.
void fill_leaf(const PatchView& p, const Layout& l, int leaves, int index, int size) {
  std::int32_t* order = l.order + std::size_t(index) * leaf;
  std::sort(order, order + size);
  for (int c = 0; c < size; ++c)
    std::copy_n(p.values + std::size_t(order[c]) * p.stride, p.stride,
                l.values + (std::size_t(index) * leaf + c) * p.stride);
  float* numbers = l.numbers + std::size_t(index) * leaf * width;
  for (int d = 0; d < width; ++d) {
    float low = std::numeric_limits<float>::max(), high = std::numeric_limits<float>::lowest();
    for (int c = 0; c < leaf; ++c) {
      const float v = l.rows[std::size_t(order[std::min(c, size - 1)]) * width + d];
      numbers[d * leaf + c] = v;
      low = std::min(low, v);
      high = std::max(high, v);
    }
    l.low[std::size_t(d) * leaves + index] = low;
    l.high[std::size_t(d) * leaves + index] = high;
  }
}

}  // namespace

std::size_t ReducedPatches::scratch_bytes(const PatchView& p) { return Layout(p, nullptr).bytes; }

ReducedPatches ReducedPatches::make(const PatchView& p, std::byte* scratch, int threads) {
  const Layout l(p, scratch);
  const Basis basis(p);
  const double farthest = reduce_all(p, basis, l, threads);
  const bool told_apart = farthest < largest_value;
  if (!told_apart) std::fill_n(l.rows, std::size_t(p.count) * width, 0.0f);
  const int leaves = (p.count + leaf - 1) / leaf;
  make_boxes(l, p.count, threads);
  ReducedPatches r{p.count, leaves, l.order, l.values, l.numbers, l.low, l.high};
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int i = 0; i < leaves; ++i) fill_leaf(p, l, leaves, i, r.size_of(i));
  // Rounding of two patches' numbers to float; what underflows.
  r.slack = 0x1p-22 * farthest + 1e-18;
  // Rounding of patch_distance() and of the sum over the numbers.
  r.relative = (p.stride / 8.0 + width + 16) * 0x1p-23;
  if (!told_apart) r.slack = std::numeric_limits<double>::infinity();
  return r;
}

float ReducedPatches::reach(float distance) const {
  const double root = std::sqrt(double(distance)) + slack;
  return float(root * root * (1 + relative));
}

}  // namespace freeflow
