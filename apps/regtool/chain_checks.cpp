#include <apps/regtool/chain_checks.h>

#include <Eigen/SVD>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <freeflow/core/error.h>
#include <freeflow/io/transforms/vector_spread.h>
#include <freeflow/transform/affine_split.h>
#include <freeflow/transform/transform_operations.h>

namespace freeflow::apps {

namespace {

/// What an output of a registration is, by its name: PREFIX and the rest.
enum class Output { none, affine, warp, inverse_warp };

Output output_of(const std::string& path, std::string& prefix) {
  const std::string name = std::filesystem::path(path).filename().string();
  constexpr std::pair<const char*, Output> endings[] = {
      {"0GenericAffine.mat", Output::affine},
      {"1InverseWarp.nii.gz", Output::inverse_warp},
      {"1InverseWarp.nii", Output::inverse_warp},
      {"1Warp.nii.gz", Output::warp},
      {"1Warp.nii", Output::warp},
      {"1BSpline.h5", Output::warp}};
  for (const auto& [ending, output] : endings)
    if (name.ends_with(ending)) {
      prefix = path.substr(0, path.size() - std::string(ending).size());
      return output;
    }
  return Output::none;
}

std::string onto_fixed(const std::string& prefix) {
  std::error_code none;
  std::string warp = "1Warp.nii.gz", inverse = "1InverseWarp.nii.gz";
  for (const auto& [there, back] : {std::pair{"1Warp.nii", "1InverseWarp.nii"},
                                    std::pair{"1BSpline.h5", "1InverseWarp.nii.gz"}})
    if (!std::filesystem::exists(prefix + "1Warp.nii.gz", none) &&
        std::filesystem::exists(prefix + there, none))
      warp = there, inverse = back;
  return "onto the fixed image's grid it is -t " + prefix + warp + " -t " + prefix +
         "0GenericAffine.mat, the way back is -t [" + prefix + "0GenericAffine.mat,1] -t " +
         prefix + inverse;
}

std::string half_a_transform(const std::string& path, const std::string& affine,
                             const std::string& prefix) {
  return "'" + path + "' is half of its registration, whose affine '" + affine +
         "' is not listed: " + onto_fixed(prefix);
}

bool inside(const Eigen::Vector3d& voxel, const Extent& extent) {
  for (int axis = 0; axis < 3; ++axis)
    if (!(voxel[axis] >= -0.5 && voxel[axis] < extent[axis] - 0.5)) return false;
  return true;
}

/// Of the field's grid, which may lie between the points: within their box.
double share_among(const std::vector<Eigen::Vector3d>& points, const Geometry& field) {
  Eigen::AlignedBox3d box;
  for (const Eigen::Vector3d& p : points) box.extend(p);
  const std::vector<Eigen::Vector3d> of_field = sample_of(field);
  const auto count =
      std::ranges::count_if(of_field, [&](const Eigen::Vector3d& p) { return box.contains(p); });
  return double(count) / double(of_field.size());
}

void require_same_space(const std::string& path, const std::vector<Eigen::Vector3d>& points,
                        const Geometry& field) {
  constexpr double least = 0.01;
  const double of_reference = share_inside(points, field), of_field = share_among(points, field);
  if (std::max(of_reference, of_field) >= least) return;
  char percent[16];
  std::snprintf(percent, sizeof percent, "%.2g", 100 * of_reference);
  throw InvalidArgument("'" + path + "' covers " + percent +
                        " % of the reference (the fixed image), so it is of another space: name "
                        "the image that it was made for, and list the transforms in their order");
}

/// Calls f(index, vector) for all voxels in their order, both in voxels.
template <class F>
void for_each_vector(const HostField& field, F&& f) {
  const Extent n = field.geometry.extent;
  const std::size_t count = n.count();
  const float* u = field.planes.data();
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x, ++u)
        f(Eigen::Vector3d(x, y, z), Eigen::Vector3d(u[0], u[count], u[2 * count]));
}

/// The largest of a field's vectors.
double largest_mm(const HostField& field) {
  const std::size_t count = field.geometry.extent.count();
  const std::vector<float>& u = field.planes;
  double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (std::size_t i = 0; i < count; ++i)
    largest = std::max(largest, Eigen::Vector3d(u[i], u[count + i], u[2 * count + i])
                                    .cwiseProduct(field.geometry.spacing)
                                    .squaredNorm());
  return std::sqrt(largest);
}

/// The same of what an affine map of the index leaves of them.
double largest_less_mm(const HostField& field, const Eigen::Affine3d& less) {
  double largest = 0;
  for_each_vector(field, [&](const Eigen::Vector3d& index, const Eigen::Vector3d& u) {
    largest =
        std::max(largest, (u - less * index).cwiseProduct(field.geometry.spacing).squaredNorm());
  });
  return std::sqrt(largest);
}

}  // namespace

bool has_affine(const HostTransform& transform) {
  return std::ranges::any_of(transform.steps, [](const auto& step) {
    return std::holds_alternative<Eigen::Affine3d>(step);
  });
}

TransformContext context_of(const std::vector<ListedTransform>& listed, std::size_t i,
                            bool behind_affine, TransformContext chain) {
  if (behind_affine) chain.fixed.reset();
  if (i + 1 < listed.size()) chain.moving.reset();
  if (listed[i].inverse) std::swap(chain.fixed, chain.moving);
  return chain;
}

void check_order(const std::vector<ListedTransform>& listed) {
  for (std::size_t i = 0; i + 1 < listed.size(); ++i) {
    const ListedTransform &one = listed[i], &next = listed[i + 1];
    std::string first_prefix, second_prefix;
    const Output first = output_of(one.path, first_prefix);
    const Output second = output_of(next.path, second_prefix);
    if (first == Output::none || second == Output::none || first_prefix != second_prefix) continue;
    const bool forth = first == Output::warp && second == Output::affine && !next.inverse;
    const bool back =
        first == Output::affine && one.inverse && !next.inverse && second == Output::inverse_warp;
    // [FILE,1] of a warp is what its inverse warp is.
    const bool turned =
        (first == Output::inverse_warp && one.inverse && second == Output::affine &&
         !next.inverse) ||
        (first == Output::affine && one.inverse && next.inverse && second == Output::warp);
    // Back and forth again, to see what is left; forth and back has its affines side by side.
    const bool round =
        first == Output::inverse_warp && second == Output::warp && !one.inverse && !next.inverse;
    require(
        (forth && !one.inverse) || back || turned || round || first == second,
        "'" + one.path + "' before '" + next.path + "' leads nowhere: " + onto_fixed(first_prefix));
  }
}

void warn_of_missing_affine(const std::vector<ListedTransform>& listed,
                            std::vector<std::string>& warnings) {
  std::set<std::string> affines;
  std::map<std::string, std::string> warps;  // prefix: file
  for (const ListedTransform& one : listed) {
    std::string prefix;
    const Output output = output_of(one.path, prefix);
    if (output == Output::affine) affines.insert(prefix);
    if (output == Output::warp || output == Output::inverse_warp) warps.emplace(prefix, one.path);
  }
  for (const auto& [prefix, path] : warps) {
    const std::string affine = prefix + "0GenericAffine.mat";
    if (affines.count(prefix) || !std::filesystem::exists(affine)) continue;
    warnings.push_back(half_a_transform(path, affine, prefix));
  }
}

void check_values(const std::string& path, const HostTransform& transform) {
  for (const auto& step : transform.steps) {
    if (const auto* affine = std::get_if<Eigen::Affine3d>(&step)) {
      const Eigen::Vector3d scales =
          Eigen::JacobiSVD<Eigen::Matrix3d>(affine->linear()).singularValues();
      require(scales[2] > 1e-6 * scales[0],
              "'" + path + "' holds an affine that flattens space; make it again");
      continue;
    }
    const HostField& field = std::get<HostField>(step);
    const Geometry& g = field.geometry;
    const Eigen::Vector3d sides =
        g.spacing.cwiseProduct(Eigen::Vector3d(g.extent.x, g.extent.y, g.extent.z));
    double largest = largest_mm(field);
    // Between images that lie far apart, or one of which is several times as large, all vectors are
    // long, but what an affine map leaves of them is not.
    const bool alike =
        largest > sides.norm() &&
        !spread_of(g.extent, field.planes, Eigen::Affine3d::Identity()).looks_like_positions();
    if (alike) largest = largest_less_mm(field, affine_fit(g.extent, field.planes));
    require(largest <= sides.norm(),
            "'" + path + "' displaces by up to " + std::to_string(std::lround(largest)) +
                " mm, more than its grid's diagonal of " +
                std::to_string(std::lround(sides.norm())) +
                " mm: its numbers are positions or of another unit; regtool convert --from names "
                "whose they are");
  }
}

std::vector<Eigen::Vector3d> sample_through(const std::vector<ListedTransform>& listed,
                                            const std::vector<HostTransform>& transforms,
                                            const Geometry& reference) {
  std::vector<Eigen::Vector3d> points = sample_of(reference);
  for (std::size_t i = 0; i < transforms.size(); ++i) {
    HostTransform ordered{transforms[i].steps, {}};
    if (listed[i].inverse) std::reverse(ordered.steps.begin(), ordered.steps.end());
    for (const auto& step : ordered.steps) {
      const auto* affine = std::get_if<Eigen::Affine3d>(&step);
      if (!affine) {
        const HostField& field = std::get<HostField>(step);
        require_same_space(
            listed[i].path, points,
            listed[i].inverse ? grid_of_range(field.geometry, field.planes) : field.geometry);
        if (listed[i].inverse) continue;
        for (Eigen::Vector3d& p : points) p = displace_point(field, p);
      } else {
        const Eigen::Affine3d map = listed[i].inverse ? affine->inverse() : *affine;
        for (Eigen::Vector3d& p : points) p = map * p;
      }
    }
  }
  return points;
}

std::vector<Eigen::Vector3d> sample_of(const Geometry& grid) {
  constexpr int most_per_axis = 24;
  const Eigen::Affine3d to_world = grid.index_to_world();
  const auto positions = [&](int axis) {
    const int n = grid.extent[axis], count = std::min(n, most_per_axis);
    std::vector<double> at;
    at.reserve(std::size_t(count));
    for (int i = 0; i < count; ++i) at.push_back((i + 0.5) * n / count - 0.5);
    return at;
  };
  std::vector<Eigen::Vector3d> points;
  for (const double z : positions(2))
    for (const double y : positions(1))
      for (const double x : positions(0)) points.push_back(to_world * Eigen::Vector3d(x, y, z));
  return points;
}

double share_inside(const std::vector<Eigen::Vector3d>& points, const Geometry& grid) {
  const Eigen::Affine3d to_index = grid.world_to_index();
  const auto count = std::count_if(points.begin(), points.end(), [&](const Eigen::Vector3d& p) {
    return inside(to_index * p, grid.extent);
  });
  return double(count) / double(points.size());
}

}  // namespace freeflow::apps
