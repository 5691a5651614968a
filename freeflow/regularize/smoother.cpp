#include <freeflow/regularize/smoother.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <freeflow/core/for_each_voxel.h>
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
constexpr int chunk = 256, longest_radius = int(4 * largest_separable);

/// Deriche's fit of exp(-t^2 / 2) for t >= 0: sum of (a cos(w t) + b sin(w t)) exp(-l t).
constexpr double deriche[2][4] = {{1.6797292232361107, 3.7348298269103580, 0.6318113174569493, 1.7831906544515104},
                                  {-0.6802783501806897, -0.2598300478959625, 1.9969276832487770, 1.7228297663338028}};

std::array<RecursiveSection, 2> recursive_sections(double sigma) {
  std::array<RecursiveSection, 2> sections;
  double gain = 0;
  for (int i = 0; i < 2; ++i) {
    const auto [a, b, w, l] = deriche[i];
    const double r = std::exp(-l / sigma), c = std::cos(w / sigma), s = std::sin(w / sigma);
    RecursiveSection& section = sections[i];
    section.d1 = 2 * r * c;
    section.d2 = r * r;
    section.n0 = a;
    section.n1 = r * (b * s - a * c);
    section.m1 = section.n1 + section.n0 * section.d1;
    section.m2 = -section.n0 * section.d2;
    gain += section.steady_forward() + section.steady_backward();
  }
  for (RecursiveSection& s : sections)
    for (double* numerator : {&s.n0, &s.n1, &s.m1, &s.m2}) *numerator /= gain;
  return sections;
}

/// The separable pass of SeparableAxisBody by rows: the sums of a chunk of a row grow together, one weight at a time.
void separable_rows(backend::Cpu cpu, const SeparableAxisBody& body, int planes) {
  const LinesAlong& lines = body.lines;
  const Extent n = lines.extent;
  const int rows = n.y * n.z * planes, radius = body.radius, length = n[lines.axis];
  const std::size_t stride = lines.stride();
#pragma omp parallel for schedule(static) num_threads(cpu.threads) if (std::size_t(rows) * n.x >= 8192)
  for (int row = 0; row < rows; ++row) {
    const int y = row % n.y, z = row / n.y;
    float sum[chunk], padded[chunk + 2 * longest_radius];
    for (int x = 0; x < n.x; x += chunk) {
      const int count = std::min(chunk, n.x - x);
      const float* line = body.in + lines.start(x, y, z);
      if (lines.axis == 0)
        for (int i = 0; i < count + 2 * radius; ++i) padded[i] = line[std::clamp(x + i - radius, 0, length - 1)];
      std::fill(sum, sum + chunk, 0.0f);
      for (int k = 0; k <= 2 * radius; ++k) {
        const float weight = body.weights[k];
        const float* values =
            lines.axis == 0 ? padded + k : line + std::clamp(lines.position(x, y, z) + k - radius, 0, length - 1) * stride;
        for (int i = 0; i < count; ++i) sum[i] = fma_(weight, values[i], sum[i]);
      }
      std::copy(sum, sum + count, body.out + std::size_t(row) * n.x + x);
    }
  }
}

/// recursive_line for `Lanes` lines side by side, `lane` floats apart: the same operations on each.
template <int Lanes>
void recursive_lanes(const RecursiveSection& a, const RecursiveSection& b, const float* in, float* out, int n, std::size_t stride,
                     std::size_t lane) {
  double x1[Lanes], x2[Lanes], a1[Lanes], a2[Lanes], b1[Lanes], b2[Lanes];
  const auto start = [&](const float* first, double gain_a, double gain_b) {
    for (int l = 0; l < Lanes; ++l) {
      x1[l] = x2[l] = first[l * lane];
      a1[l] = a2[l] = gain_a * x1[l];
      b1[l] = b2[l] = gain_b * x1[l];
    }
  };
  start(in, a.steady_forward(), b.steady_forward());
  for (int i = 0; i < n; ++i)
    for (int l = 0; l < Lanes; ++l) {
      const double x = in[i * stride + l * lane];
      const double a0 = fma_(a.n0, x, fma_(a.n1, x1[l], fma_(a.d1, a1[l], -(a.d2 * a2[l]))));
      const double b0 = fma_(b.n0, x, fma_(b.n1, x1[l], fma_(b.d1, b1[l], -(b.d2 * b2[l]))));
      out[i * stride + l * lane] = float(a0 + b0);
      x1[l] = x, a2[l] = a1[l], a1[l] = a0, b2[l] = b1[l], b1[l] = b0;
    }
  start(in + (n - 1) * stride, a.steady_backward(), b.steady_backward());
  for (int i = n - 1; i >= 0; --i)
    for (int l = 0; l < Lanes; ++l) {
      const double a0 = fma_(a.m1, x1[l], fma_(a.m2, x2[l], fma_(a.d1, a1[l], -(a.d2 * a2[l]))));
      const double b0 = fma_(b.m1, x1[l], fma_(b.m2, x2[l], fma_(b.d1, b1[l], -(b.d2 * b2[l]))));
      float& sum = out[i * stride + l * lane];
      sum = float(double(sum) + (a0 + b0));
      x2[l] = x1[l], x1[l] = in[i * stride + l * lane], a2[l] = a1[l], a1[l] = a0, b2[l] = b1[l], b1[l] = b0;
    }
}

/// The recursive pass of RecursiveLineBody, eight lines at a time.
void recursive_rows(backend::Cpu cpu, const RecursiveLineBody& body, int planes) {
  constexpr int lanes = 8;
  const LinesAlong& lines = body.lines;
  const Extent n = lines.extent;
  const int axis = lines.axis, length = n[axis];
  const std::size_t stride = lines.stride(), lane = axis == 0 ? n.x : 1;
  const int across = axis == 0 ? n.y : n.x;  // lines side by side
  const int groups = axis == 2 ? n.y * planes : n.z * planes, bundles = (across + lanes - 1) / lanes;
#pragma omp parallel for schedule(static) num_threads(cpu.threads) if (n.count() >= 8192)
  for (int task = 0; task < groups * bundles; ++task) {
    const int group = task / bundles, first = task % bundles * lanes;
    const int y = axis == 2 ? group % n.y : 0, z = axis == 2 ? group / n.y * n.z : group;
    const std::size_t start = axis == 0 ? lines.start(0, first, z) : lines.start(first, y, z);
    if (first + lanes <= across)
      recursive_lanes<lanes>(body.a, body.b, body.in + start, body.out + start, length, stride, lane);
    else
      for (int l = 0; l < across - first; ++l)
        recursive_line(body.a, body.b, body.in + start + l * lane, body.out + start + l * lane, length, stride);
  }
}

}  // namespace

GaussianFilter::GaussianFilter(Context& ctx, Extent extent, const Eigen::Vector3d& sigma_voxels, Smoother smoother) : extent_(extent) {
  require(sigma_voxels.allFinite() && sigma_voxels.minCoeff() >= 0, "a Gaussian's sigma must be a number that is not negative");
  for (int a = 0; a < 3; ++a) {
    Axis& axis = axes_[a];
    axis.sigma = sigma_voxels[a];
    axis.recursive =
        axis.sigma > 0 && (smoother == Smoother::recursive || (smoother == Smoother::automatic && axis.sigma > largest_automatic));
    require(!axis.recursive || axis.sigma >= smallest_recursive,
            "the recursive Gaussian needs a sigma of at least 0.5 voxels; take the separable one");
    require(axis.recursive || axis.sigma <= largest_separable,
            "the separable Gaussian and fft take a sigma of at most 64 voxels; take the recursive one");
    if (axis.recursive)
      axis.sections = recursive_sections(axis.sigma);
    else if (smoother != Smoother::fft || axis.sigma == 0)
      axis.weights = Buffer<float>(ctx, axis.sigma > 0 ? gaussian_window(axis.sigma).weights : std::vector<float>{1.0f});
  }
  if (smoother == Smoother::fft && smooths()) fft_ = std::make_unique<FftGaussian>(ctx, extent, sigma_voxels);
}

GaussianFilter::~GaussianFilter() = default;
GaussianFilter::GaussianFilter(GaussianFilter&&) noexcept = default;

std::size_t GaussianFilter::bytes(const Context& ctx, Extent extent, const Eigen::Vector3d& sigma_voxels, Smoother smoother) {
  return smoother == Smoother::fft && sigma_voxels.maxCoeff() > 0 ? FftGaussian::bytes(ctx, extent, sigma_voxels) : 0;
}

bool GaussianFilter::smooths() const {
  return std::any_of(axes_.begin(), axes_.end(), [](const Axis& a) { return a.sigma > 0; });
}

void GaussianFilter::apply(Context& ctx, float* in, float* out, int planes) const {
  if (fft_) return fft_->apply(ctx, in, out, planes);
  const Extent all{extent_.x, extent_.y, extent_.z * planes};
  for (int a = 0; a < 3; ++a) {
    const Axis& axis = axes_[a];
    const LinesAlong lines{extent_, a};
    if (axis.recursive) {
      const Extent starts{a == 0 ? 1 : all.x, a == 1 ? 1 : all.y, a == 2 ? planes : all.z};
      const RecursiveLineBody body{lines, in, out, axis.sections[0], axis.sections[1]};
      backend::dispatch(ctx, [&](auto target) {
        if constexpr (std::is_same_v<decltype(target), backend::Cpu>)
          recursive_rows(target, body, planes);
        else
          for_each_voxel(target, starts, body);
      });
    } else {
      const SeparableAxisBody body{lines, in, out, axis.weights.data(), int(axis.weights.size()) / 2};
      backend::dispatch(ctx, [&](auto target) {
        if constexpr (std::is_same_v<decltype(target), backend::Cpu>)
          separable_rows(target, body, planes);
        else
          for_each_voxel(target, all, body);
      });
    }
    std::swap(in, out);
  }
}

void GaussianFilter::apply(Context& ctx, FieldView<float> in, FieldView<float> out) const {
  require(in.extent == extent_ && out.extent == extent_, "the field does not have the filter's extent");
  apply(ctx, in.data, out.data, 3);
}

void GaussianFilter::apply(Context& ctx, VolumeView<float> in, VolumeView<float> out) const {
  require(in.extent == extent_ && out.extent == extent_, "the volume does not have the filter's extent");
  apply(ctx, in.data, out.data, 1);
}

namespace {

template <class Values>
void smooth_in_place(Context& ctx, Values& values, const Eigen::Vector3d& sigma_voxels, Smoother smoother) {
  const GaussianFilter filter(ctx, values.extent(), sigma_voxels, smoother);
  if (!filter.smooths()) return;
  Values smoothed(ctx, values.geometry());
  filter.apply(ctx, values.view(), smoothed.view());
  values = std::move(smoothed);
}

}  // namespace

void smooth(Context& ctx, DisplacementField& field, const Eigen::Vector3d& sigma_voxels, Smoother smoother) {
  smooth_in_place(ctx, field, sigma_voxels, smoother);
}

void smooth(Context& ctx, Volume<float>& image, const Eigen::Vector3d& sigma_voxels, Smoother smoother) {
  smooth_in_place(ctx, image, sigma_voxels, smoother);
}

}  // namespace freeflow
