#include <experiments/accuracy/scene_making.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace freeflow::accuracy {

namespace {

/// Calls f(x, y, z, index) for every voxel, x fastest.
template <class F>
void each_voxel(Extent n, F&& f) {
  std::size_t i = 0;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x, ++i) f(x, y, z, i);
}

struct Gaussian {
  Eigen::Vector3d center, amplitude;  // world mm
  double sigma_mm;
};

std::vector<Gaussian> gaussians(const Geometry& grid, const Object& object, std::uint64_t seed,
                                std::uint64_t count, double width) {
  const Eigen::Affine3d to_world = grid.index_to_world();
  const double side = object.side_mm(grid).mean();
  std::vector<Gaussian> result;
  for (std::uint64_t i = 0; i < count; ++i) {
    Gaussian g;
    Eigen::Vector3d voxel;
    for (int c = 0; c < 3; ++c) {
      const double along = 0.15 + 0.7 * hashed(seed, 1, 3 * i + std::uint64_t(c));
      voxel[c] = object.low[c] + along * (object.high[c] - object.low[c]);
      g.amplitude[c] = 2 * hashed(seed, 2, 3 * i + std::uint64_t(c)) - 1;
    }
    g.center = to_world * voxel;
    g.sigma_mm = width * side * (0.1 + 0.1 * hashed(seed, 3, i));
    result.push_back(g);
  }
  return result;
}

/// The sum at every voxel, scaled to the largest length wanted, in voxels along the grid's axes.
std::vector<float> displacements(const Geometry& grid, const std::vector<Gaussian>& sum,
                                 double largest_mm) {
  const Eigen::Affine3d to_world = grid.index_to_world();
  const Extent n = grid.extent;
  std::vector<Eigen::Vector3d> world(n.count());
#pragma omp parallel for schedule(static)
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        const Eigen::Vector3d p = to_world * Eigen::Vector3d(x, y, z);
        Eigen::Vector3d u = Eigen::Vector3d::Zero();
        for (const Gaussian& g : sum)
          u +=
              std::exp(-(p - g.center).squaredNorm() / (2 * g.sigma_mm * g.sigma_mm)) * g.amplitude;
        world[VolumeView<float>{nullptr, n}.offset(x, y, z)] = u;
      }
  double longest = 0;
  for (const Eigen::Vector3d& u : world) longest = std::max(longest, u.norm());
  const Eigen::Matrix3d to_voxels = to_world.linear().inverse() * (largest_mm / longest);
  std::vector<float> planes(3 * n.count());
  for (std::size_t i = 0; i < world.size(); ++i) {
    const Eigen::Vector3d u = to_voxels * world[i];
    for (int c = 0; c < 3; ++c) planes[std::size_t(c) * n.count() + i] = float(u[c]);
  }
  return planes;
}

/// The grid's axis that runs nearest to a world axis, and whether it runs along or against it.
std::pair<int, bool> nearest_axis(const Geometry& grid, int world) {
  int axis = 0;
  grid.direction.row(world).cwiseAbs().maxCoeff(&axis);
  return {axis, grid.direction(world, axis) > 0};
}

HostImage cut(const HostImage& image, const std::array<int, 3>& first, const Extent& size) {
  HostImage part;
  part.geometry = image.geometry;
  part.geometry.extent = size;
  part.geometry.origin =
      image.geometry.index_to_world() * Eigen::Vector3d(first[0], first[1], first[2]);
  part.stored_type = image.stored_type;
  const VolumeView<const float> from{image.voxels.data(), image.geometry.extent};
  part.voxels.reserve(size.count());
  each_voxel(size, [&](int x, int y, int z, std::size_t) {
    part.voxels.push_back(image.voxels[from.offset(x + first[0], y + first[1], z + first[2])]);
  });
  return part;
}

void cut_alike(HostImage& image, const std::vector<HostImage*>& others,
               const std::array<int, 3>& first, const Extent& size) {
  for (HostImage* other : others) {
    require(same_grid(image.geometry, other->geometry),
            "the labels do not lie on the image's grid");
    *other = cut(*other, first, size);
  }
  image = cut(image, first, size);
}

}  // namespace

double hashed(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint64_t h = index;
  for (const std::uint64_t word : {stream, seed}) {  // splitmix64's finisher, once per word
    h += 0x9e3779b97f4a7c15u * (word + 1);
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    h ^= h >> 31;
  }
  return (double(h >> 11) + 0.5) * 0x1p-53;
}

Eigen::Vector3d Object::side_mm(const Geometry& grid) const {
  return {(high[0] - low[0] + 1) * grid.spacing[0], (high[1] - low[1] + 1) * grid.spacing[1],
          (high[2] - low[2] + 1) * grid.spacing[2]};
}

Object find_object(const HostImage& image) {
  const Extent n = image.geometry.extent;
  double mean = 0;
  for (const float v : image.voxels) mean += std::isfinite(v) ? v : 0;
  mean /= double(image.voxels.size());
  Object object;
  object.marked.assign(image.voxels.size(), 0);
  object.low = {n.x - 1, n.y - 1, n.z - 1};
  Eigen::Vector3d sum = Eigen::Vector3d::Zero(), squares = Eigen::Vector3d::Zero();
  std::vector<float> values;
  each_voxel(n, [&](int x, int y, int z, std::size_t i) {
    if (!(image.voxels[i] > mean)) return;
    const std::array<int, 3> at{x, y, z};
    for (std::size_t c = 0; c < 3; ++c) {
      object.low[c] = std::min(object.low[c], at[c]);
      object.high[c] = std::max(object.high[c], at[c]);
    }
    const Eigen::Vector3d p(x, y, z);
    sum += p;
    squares += p.cwiseProduct(p);
    object.marked[i] = 1;
    values.push_back(image.voxels[i]);
  });
  require(!values.empty(), "the image shows no object: all its voxels are alike");
  const double count = double(values.size());
  object.centroid = sum / count;
  object.deviation =
      (squares / count - object.centroid.cwiseProduct(object.centroid)).cwiseMax(0).cwiseSqrt();
  const auto white = values.begin() + std::ptrdiff_t(0.99 * (count - 1));
  std::nth_element(values.begin(), white, values.end());
  object.white = *white;
  return object;
}

KnownWarp known_warp(Context& ctx, const Geometry& grid, const Object& object,
                     const WarpOptions& options) {
  require(options.largest_mm > 0, "--largest must be positive");
  require(options.width > 0.05 && options.width <= 5, "--width must lie above 0.05 and up to 5");
  const auto count = std::uint64_t(std::lround(24 / std::min(options.width, 1.0)));
  double width = options.width;
  for (int attempt = 0; attempt < 15; ++attempt, width *= 1.15) {
    const std::vector<Gaussian> sum = gaussians(grid, object, options.seed, count, width);
    DisplacementField u(ctx, grid, displacements(grid, sum, options.largest_mm));
    const FieldQuality quality = field_quality(ctx, u);
    if (quality.folded_voxels == 0 && quality.corner_jacobian_min >= 0.1)
      return {std::move(u), quality, width};
  }
  throw RegistrationError("a displacement of that length cannot be reached without a fold");
}

HostImage shrink(const HostImage& image, int factor) {
  require(factor >= 1, "--shrink must be at least 1");
  if (factor == 1) return image;
  const Extent n = image.geometry.extent, m{n.x / factor, n.y / factor, n.z / factor};
  require(m.x > 0 && m.y > 0 && m.z > 0, "--shrink leaves no voxel");
  HostImage small;
  small.geometry = image.geometry;
  small.geometry.extent = m;
  small.geometry.spacing *= factor;
  small.geometry.origin =
      image.geometry.index_to_world() * Eigen::Vector3d::Constant(0.5 * (factor - 1));
  small.voxels.reserve(m.count());
  const VolumeView<const float> from{image.voxels.data(), n};
  each_voxel(m, [&](int x, int y, int z, std::size_t) {
    double sum = 0;
    each_voxel({factor, factor, factor}, [&](int i, int j, int k, std::size_t) {
      sum += image.voxels[from.offset(x * factor + i, y * factor + j, z * factor + k)];
    });
    small.voxels.push_back(float(sum / (double(factor) * factor * factor)));
  });
  return small;
}

void crop(HostImage& image, const std::vector<HostImage*>& others, double share) {
  require(share > 0 && share < 1, "--crop must lie between 0 and 1");
  const Object object = find_object(image);
  const Extent n = image.geometry.extent;
  std::array<int, 3> first{}, end{n.x, n.y, n.z};
  const auto take = [&](int world, double part) {
    const auto [axis, along] = nearest_axis(image.geometry, world);
    const auto a = std::size_t(axis);
    const int voxels = int(std::lround(part * (object.high[a] - object.low[a] + 1)));
    if (along) first[a] = object.low[a] + voxels;
    if (!along) end[a] = object.high[a] + 1 - voxels;
  };
  take(2, share);
  take(0, 0.5 * share);
  cut_alike(image, others, first, {end[0] - first[0], end[1] - first[1], end[2] - first[2]});
}

void keep_slices(HostImage& image, const std::vector<HostImage*>& others, int slices) {
  const Extent n = image.geometry.extent;
  require(slices >= 1 && slices <= n.z, "--slices must be 1 to as many as the image has");
  cut_alike(image, others, {0, 0, n.z / 2 - slices / 2}, {n.x, n.y, slices});
}

void add_bias(HostImage& image, double share, std::uint64_t seed) {
  const Object object = find_object(image);
  const Eigen::Vector3d side = object.side_mm(image.geometry);
  constexpr std::uint64_t waves = 6;
  std::vector<double> field(image.voxels.size());
  double low = 1e300, high = -1e300;
  each_voxel(image.geometry.extent, [&](int x, int y, int z, std::size_t i) {
    const Eigen::Vector3d p = image.geometry.spacing.cwiseProduct(Eigen::Vector3d(x, y, z));
    for (std::uint64_t w = 0; w < waves; ++w) {
      double phase = hashed(seed, 4, w);
      for (int c = 0; c < 3; ++c)  // at most three quarters of a period across the object
        phase += p[c] / side[c] * (1.5 * hashed(seed, 5, 3 * w + std::uint64_t(c)) - 0.75);
      field[i] += std::cos(2 * std::numbers::pi * phase);
    }
    if (!object.marked[i]) return;
    low = std::min(low, field[i]);
    high = std::max(high, field[i]);
  });
  for (std::size_t i = 0; i < field.size(); ++i) {
    const double unit = std::clamp(2 * (field[i] - low) / (high - low) - 1, -1.0, 1.0);
    image.voxels[i] = float(image.voxels[i] * (1 + share * unit));
  }
}

void add_noise(HostImage& image, double share, std::uint64_t seed) {
  const double sigma = share * find_object(image).white;
  const bool magnitude = *std::min_element(image.voxels.begin(), image.voxels.end()) >= 0;
  for (std::size_t i = 0; i < image.voxels.size(); ++i) {
    const double r = sigma * std::sqrt(-2 * std::log(hashed(seed, 6, i)));
    const double angle = 2 * std::numbers::pi * hashed(seed, 7, i);
    const double real = image.voxels[i] + r * std::cos(angle);
    image.voxels[i] = float(magnitude ? std::hypot(real, r * std::sin(angle)) : real);
  }
}

std::vector<float> add_lesion(HostImage& image, double diameter_mm) {
  const Object object = find_object(image);
  const Geometry& grid = image.geometry;
  const Eigen::Vector3d beside(0.8, 0.4, 0.3),
      center = object.centroid + beside.cwiseProduct(object.deviation);
  const double edge = grid.spacing.mean();
  std::vector<float> inside(image.voxels.size());
  each_voxel(grid.extent, [&](int x, int y, int z, std::size_t i) {
    const double away = grid.spacing.cwiseProduct(Eigen::Vector3d(x, y, z) - center).norm();
    const double w = std::clamp(0.5 + (0.5 * diameter_mm - away) / edge, 0.0, 1.0);
    inside[i] = float(w);
    image.voxels[i] = float(w * 1.2 * object.white + (1 - w) * image.voxels[i]);
  });
  return inside;
}

HostImage stored_as(const HostImage& image, const std::string& axes) {
  const Geometry& from = image.geometry;
  HostImage result;
  result.geometry = from;
  result.stored_type = image.stored_type;
  Eigen::Vector3d corner = Eigen::Vector3d::Zero();
  std::array<int, 3> old{}, size{};
  std::array<bool, 3> against{}, seen{};
  require(axes.size() == 6, "--axes is three signed letters, such as +y-x+z");
  for (std::size_t k = 0; k < 3; ++k) {
    const char sign = axes[2 * k], letter = axes[2 * k + 1];
    require((sign == '+' || sign == '-') && letter >= 'x' && letter <= 'z' && !seen[letter - 'x'],
            "--axes names x, y and z once each, with + or - before it");
    const int a = letter - 'x';
    seen[std::size_t(a)] = true;
    old[k] = a;
    against[k] = sign == '-';
    size[k] = from.extent[a];
    result.geometry.spacing[Eigen::Index(k)] = from.spacing[a];
    result.geometry.direction.col(Eigen::Index(k)) = (against[k] ? -1 : 1) * from.direction.col(a);
    if (against[k]) corner[a] = size[k] - 1;
  }
  result.geometry.origin = from.index_to_world() * corner;
  result.geometry.extent = {size[0], size[1], size[2]};
  const VolumeView<const float> view{image.voxels.data(), from.extent};
  result.voxels.reserve(image.voxels.size());
  each_voxel(result.geometry.extent, [&](int x, int y, int z, std::size_t) {
    const std::array<int, 3> at{x, y, z};
    std::array<int, 3> there{};
    for (std::size_t k = 0; k < 3; ++k)
      there[std::size_t(old[k])] = against[k] ? size[k] - 1 - at[k] : at[k];
    result.voxels.push_back(image.voxels[view.offset(there[0], there[1], there[2])]);
  });
  return result;
}

Phantom phantom() {
  Phantom made;
  Geometry& grid = made.image.geometry;
  grid.extent = {48, 56, 40};
  grid.spacing = {2, 2, 2.5};
  grid.origin = {-40, 12, 7};
  grid.direction.col(0) *= -1;
  grid.direction.col(1) *= -1;
  made.labels.geometry = grid;
  each_voxel(grid.extent, [&](int x, int y, int z, std::size_t) {
    const Eigen::Vector3d p(2 * (x - 23.5), 2 * (y - 27.5), 2.5 * (z - 19.5));
    const double r = p.cwiseQuotient(Eigen::Vector3d(36, 42, 38)).norm();
    const double texture = std::sin(p.x() / 5) * std::cos(p.y() / 6) + std::sin(p.z() / 7);
    made.image.voxels.push_back(r < 1 ? float(100 * (3 + texture)) : 0);
    made.labels.voxels.push_back(r < 1 ? float(1 + (p.x() > 0) + 2 * (p.y() > 0) + 4 * (p.z() > 0))
                                       : 0);
  });
  return made;
}

}  // namespace freeflow::accuracy
