#include <freeflow/regularize/smoother.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <freeflow/core/parallel_errors.h>
#include <freeflow/core/simd_dispatch.h>
#include <freeflow/regularize/fft_gaussian.h>
#include <freeflow/regularize/gaussian.h>
#include <freeflow/regularize/smoother_body.h>

namespace freeflow {

std::optional<Smoother> parse_smoother(std::string_view name) {
  if (name == "auto") return Smoother::automatic;
  if (name == "recursive") return Smoother::recursive;
  if (name == "separable") return Smoother::separable;
  if (name == "fft") return Smoother::fft;
  return std::nullopt;
}

namespace {

constexpr double largest_separable = 64, largest_automatic = 4, smallest_recursive = 0.5;
constexpr int chunk = 64;

/// Deriche's fit of exp(-t^2 / 2) for t >= 0: sum of (a cos(w t) + b sin(w t)) exp(-l t).
constexpr double deriche[2][4] = {
    {1.6797292232361107, 3.7348298269103580, 0.6318113174569493, 1.7831906544515104},
    {-0.6802783501806897, -0.2598300478959625, 1.9969276832487770, 1.7228297663338028}};

std::array<RecursiveSection, 2> recursive_sections(double sigma) {
  std::array<RecursiveSection, 2> sections;
  std::array<double, 6> exact[2];
  double gain = 0;
  for (int i = 0; i < 2; ++i) {
    const auto [a, b, w, l] = deriche[i];
    const double r = std::exp(-l / sigma), c = std::cos(w / sigma), s = std::sin(w / sigma);
    RecursiveSection& section = sections[i];
    section.d1 = float(2 * r * c);
    section.d2 = float(-r * r);
    const double n0 = a, n1 = r * (b * s - a * c), m1 = n1 + n0 * section.d1, m2 = n0 * section.d2;
    const double per_steady =
        1 / (1 - double(section.d1) -
             double(section.d2));  // of the rounded poles, so that the gain is theirs
    exact[i] = {n0, n1, m1, m2, (n0 + n1) * per_steady, (m1 + m2) * per_steady};
    gain += exact[i][4] + exact[i][5];
  }
  for (int i = 0; i < 2; ++i) {
    float* const rounded[] = {&sections[i].n0,
                              &sections[i].n1,
                              &sections[i].m1,
                              &sections[i].m2,
                              &sections[i].steady_forward,
                              &sections[i].steady_backward};
    for (int k = 0; k < 6; ++k) *rounded[k] = float(exact[i][k] / gain);
  }
  return sections;
}

/// Calls use(width) with how many of `count` values, a chunk at most, are worked on at once: half a
/// chunk where that holds them.
template <class Use>
void with_width_of(int count, const Use& use) {
  if (count > chunk / 2)
    use(std::integral_constant<int, chunk>());
  else
    use(std::integral_constant<int, chunk / 2>());
}

/// Copies `count` values; a whole width of them without a call.
template <int width>
void copy_values(const float* from, int count, float* to) {
  if (count == width)
    for (int i = 0; i < width; ++i) to[i] = from[i];
  else
    std::copy(from, from + count, to);
}

/// sum += weights[k] * values[k * step ...]: the sums grow together in registers.
template <int width>
void add_weighed(const float* weights, int window, const float* values, std::ptrdiff_t step,
                 float* sum) {
  float grown[width];
  for (int i = 0; i < width; ++i) grown[i] = sum[i];
  for (int k = 0; k < window; ++k) {
    const float weight = weights[k], *v = values + k * step;
    for (int i = 0; i < width; ++i) grown[i] = fma_(weight, v[i], grown[i]);
  }
  for (int i = 0; i < width; ++i) sum[i] = grown[i];
}

/// A row of nx values through a window along x. line: nx + chunk + 2 radius floats of scratch.
void smooth_row(const SeparableLines& along_x, const float* row, int nx, float* line, float* out) {
  const int radius = along_x.radius;
  std::fill(line, line + radius, row[0]);
  std::copy(row, row + nx, line + radius);
  std::fill(line + radius + nx, line + nx + 2 * radius, row[nx - 1]);
  for (int x = 0; x < nx; x += chunk) {
    const int count = std::min(chunk, nx - x);
    with_width_of(count, [&](auto width) {
      float sums[width] = {};
      add_weighed<width>(along_x.weights, 2 * radius + 1, line + x, 1, sums);
      copy_values<width>(sums, count, out + x);
    });
  }
}

/// A slice along x and then y, in place: the rows that are smoothed along x stay in the cache, as
/// many as the window along y needs. ring: as many rows of `padded` floats, and then smooth_row's
/// line.
void smooth_slice(const SeparableLines& along_x, const SeparableLines& along_y, float* slice,
                  float* ring, int padded) {
  const Extent n = along_x.lines.extent;
  const int radius = along_y.radius, window = 2 * radius + 1;
  float* const line = ring + std::size_t(window) * padded;
  const auto slot = [&](int i) { return ring + std::size_t(i % window) * padded; };
  const auto enter = [&](int i) {
    const int y = i - radius;
    if (y > 0 && y < n.y)
      smooth_row(along_x, slice + std::size_t(y) * n.x, n.x, line, slot(i));
    else if (i == 0)
      smooth_row(along_x, slice, n.x, line, slot(0));
    else
      std::copy(slot(i - 1), slot(i - 1) + n.x, slot(i));
  };
  for (int i = 0; i < 2 * radius; ++i) enter(i);
  for (int y = 0; y < n.y; ++y) {
    enter(y + 2 * radius);
    const int first = y % window, to_end = window - first;
    for (int x = 0; x < n.x; x += chunk) {
      const int count = std::min(chunk, n.x - x);
      with_width_of(count, [&](auto width) {
        float sums[width] = {};
        add_weighed<width>(along_y.weights, to_end, slot(y) + x, padded, sums);
        add_weighed<width>(along_y.weights + to_end, first, ring + x, padded, sums);
        copy_values<width>(sums, count, slice + std::size_t(y) * n.x + x);
      });
    }
  }
}

void smooth_slices(backend::Cpu cpu, const SeparableLines& along_x, const SeparableLines& along_y,
                   float* values, int planes) {
  const Extent n = along_x.lines.extent;
  const int window = 2 * along_y.radius + 1, padded = (n.x + chunk - 1) / chunk * chunk;
  ParallelErrors errors;
#pragma omp parallel for schedule(dynamic) num_threads(cpu.threads) if (n.count() >= 8192)
  for (int task = 0; task < n.z * planes; ++task) {
    static thread_local std::vector<float> scratch;
    errors.run(
        [&] { scratch.resize(std::size_t(window) * padded + n.x + chunk + 2 * along_x.radius); });
    if (errors.failed()) continue;
    float* const slice = values + std::size_t(task) * n.x * n.y;
    simd_dispatch([&] { smooth_slice(along_x, along_y, slice, scratch.data(), padded); });
  }
  errors.rethrow();
}

/// `count` neighbouring lines along y or z, from `start` on. The window's rows are in a ring, each
/// twice, so that they always follow each other: far apart in memory they would share cache sets.
void smooth_bundle(const SeparableLines& body, std::size_t start, int count, float* ring) {
  const int radius = body.radius, window = 2 * radius + 1,
            length = body.lines.extent[body.lines.axis];
  const std::size_t stride = body.lines.stride();
  with_width_of(count, [&](auto width) {
    const auto enter = [&](int i) {
      const float* row = body.in + start + std::clamp(i - radius, 0, length - 1) * stride;
      float* slot = ring + i % window * width;
      copy_values<width>(row, count, slot);
      copy_values<width>(row, count, slot + window * width);
    };
    for (int i = 0; i < 2 * radius; ++i) enter(i);
    for (int i = 0; i < length; ++i) {
      enter(i + 2 * radius);
      float sums[width] = {};
      add_weighed<width>(body.weights, window, ring + i % window * width, width, sums);
      copy_values<width>(sums, count, body.out + start + i * stride);
    }
  });
}

void smooth_lines(backend::Cpu cpu, const SeparableLines& body, int planes) {
  const LinesAlong& lines = body.lines;
  const int radius = body.radius, window = 2 * radius + 1, nx = lines.extent.x;
  const int pieces = lines.axis == 0 ? lines.extent.y : (nx + chunk - 1) / chunk;
  ParallelErrors errors;
#pragma omp parallel for schedule(static) num_threads(cpu.threads) if (lines.extent.count() >= 8192)
  for (int task = 0; task < lines.groups(planes) * pieces; ++task) {
    static thread_local std::vector<float> rows;
    errors.run(
        [&] { rows.resize(lines.axis == 0 ? nx + chunk + 2 * radius : 2 * window * chunk); });
    if (errors.failed()) continue;
    const int group = task / pieces, piece = task % pieces;
    if (lines.axis == 0) {
      const std::size_t start = lines.start_of(group, piece);
      simd_dispatch([&] { smooth_row(body, body.in + start, nx, rows.data(), body.out + start); });
    } else {
      const int first = piece * chunk;
      const std::size_t start = lines.start_of(group, first);
      simd_dispatch([&] { smooth_bundle(body, start, std::min(chunk, nx - first), rows.data()); });
    }
  }
  errors.rethrow();
}

/// recursive_line for `Lanes` lines side by side, `lane` floats apart: the same operations on each.
template <int Lanes>
void recursive_lanes(const RecursiveSection& a, const RecursiveSection& b, const float* in,
                     float* out, int n, std::size_t stride, std::size_t lane) {
  RecursiveState s[Lanes];
  float base[Lanes];
  for (int l = 0; l < Lanes; ++l) {
    base[l] = in[l * lane];
    s[l] = RecursiveState::steady(0.0f, 0.0f, 0.0f);
  }
  for (int i = 0; i < n; ++i)
    for (int l = 0; l < Lanes; ++l)
      out[i * stride + l * lane] =
          base[l] + s[l].forward(a, b, in[i * stride + l * lane] - base[l]);
  for (int l = 0; l < Lanes; ++l)
    s[l] = RecursiveState::steady(in[(n - 1) * stride + l * lane] - base[l], a.steady_backward,
                                  b.steady_backward);
  for (int i = n - 1; i >= 0; --i)
    for (int l = 0; l < Lanes; ++l)
      out[i * stride + l * lane] += s[l].backward(a, b, in[i * stride + l * lane] - base[l]);
}

void smooth_lines(backend::Cpu cpu, const RecursiveLines& body, int planes) {
  constexpr int lanes = 16;
  const LinesAlong& lines = body.lines;
  const int length = lines.extent[lines.axis], across = lines.across(),
            bundles = (across + lanes - 1) / lanes;
  const std::size_t stride = lines.stride(), lane = lines.across_stride();
#pragma omp parallel for schedule(static) num_threads(cpu.threads) if (lines.extent.count() >= 8192)
  for (int task = 0; task < lines.groups(planes) * bundles; ++task) {
    const int first = task % bundles * lanes;
    const std::size_t start = lines.start_of(task / bundles, first);
    if (first + lanes <= across)
      recursive_lanes<lanes>(body.a, body.b, body.in + start, body.out + start, length, stride,
                             lane);
    else
      for (int l = 0; l < across - first; ++l)
        recursive_line(body.a, body.b, body.in + start + l * lane, body.out + start + l * lane,
                       length, stride);
  }
}

}  // namespace

GaussianFilter::GaussianFilter(Context& ctx, Extent extent, const Eigen::Vector3d& sigma_voxels,
                               Smoother smoother)
    : extent_(extent) {
  require(sigma_voxels.allFinite() && sigma_voxels.minCoeff() >= 0,
          "a Gaussian's sigma must be a number that is not negative");
  for (int a = 0; a < 3; ++a) {
    Axis& axis = axes_[a];
    axis.sigma = sigma_voxels[a];
    axis.recursive = (smoother == Smoother::recursive && axis.sigma >= smallest_recursive) ||
                     (smoother == Smoother::automatic && axis.sigma > largest_automatic);
    require(
        axis.recursive || axis.sigma <= largest_separable,
        "the separable Gaussian and fft take a sigma of at most 64 voxels; take the recursive one");
    if (axis.recursive)
      axis.sections = recursive_sections(axis.sigma);
    else if (smoother != Smoother::fft || axis.sigma == 0)
      axis.weights = Buffer<float>(
          ctx, axis.sigma > 0 ? gaussian_window(axis.sigma).weights : std::vector<float>{1.0f});
  }
  if (smoother == Smoother::fft && smooths())
    fft_ = std::make_unique<FftGaussian>(ctx, extent, sigma_voxels);
}

GaussianFilter::~GaussianFilter() = default;
GaussianFilter::GaussianFilter(GaussianFilter&&) noexcept = default;

bool GaussianFilter::smooths() const {
  return std::any_of(axes_.begin(), axes_.end(), [](const Axis& a) { return a.sigma > 0; });
}

void GaussianFilter::apply(Context& ctx, float* in, float* out, int planes) const {
  if (fft_) return fft_->apply(ctx, in, out, planes);
  const auto separable = [&](int a) {
    const Buffer<float>& weights = axes_[a].weights;
    return SeparableLines{{extent_, a}, in, out, weights.data(), int(weights.size()) / 2};
  };
  backend::dispatch(ctx, [&](auto target) {
    int first = 0;
    if constexpr (std::is_same_v<decltype(target), backend::Cpu>)
      if (!axes_[0].recursive && !axes_[1].recursive) {
        smooth_slices(target, separable(0), separable(1), in, planes);
        first = 2;
      }
    for (int a = first; a < 3; ++a) {
      const auto& [of_a, of_b] = axes_[a].sections;
      if (axes_[a].recursive)
        smooth_lines(target, RecursiveLines{{extent_, a}, in, out, of_a, of_b}, planes);
      else
        smooth_lines(target, separable(a), planes);
      std::swap(in, out);
    }
  });
}

void GaussianFilter::apply(Context& ctx, FieldView<float> in, FieldView<float> out) const {
  require(in.extent == extent_ && out.extent == extent_,
          "the field does not have the filter's extent");
  apply(ctx, in.data, out.data, 3);
}

void GaussianFilter::apply(Context& ctx, VolumeView<float> in, VolumeView<float> out) const {
  require(in.extent == extent_ && out.extent == extent_,
          "the volume does not have the filter's extent");
  apply(ctx, in.data, out.data, 1);
}

namespace {

template <class Values>
void smooth_in_place(Context& ctx, Values& values, const Eigen::Vector3d& sigma_voxels,
                     Smoother smoother) {
  require_on_device(ctx, values);
  const GaussianFilter filter(ctx, values.extent(), sigma_voxels, smoother);
  if (!filter.smooths()) return;
  Values smoothed(ctx, values.geometry());
  filter.apply(ctx, values.view(), smoothed.view());
  values = std::move(smoothed);
}

}  // namespace

void smooth(Context& ctx, DisplacementField& field, const Eigen::Vector3d& sigma_voxels,
            Smoother smoother) {
  smooth_in_place(ctx, field, sigma_voxels, smoother);
}

void smooth(Context& ctx, Volume<float>& image, const Eigen::Vector3d& sigma_voxels,
            Smoother smoother) {
  smooth_in_place(ctx, image, sigma_voxels, smoother);
}

}  // namespace freeflow
