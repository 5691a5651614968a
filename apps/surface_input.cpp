#include <apps/surface_input.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <set>
#include <sstream>

#include <freeflow/core/memory.h>
#include <freeflow/denoise/mesh.h>
#include <freeflow/denoise/nonlocal_means.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/mesh_file.h>

namespace freeflow::apps {

namespace {

/// What the values of a volume say about its kind.
struct Census {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  std::size_t at_low = 0, at_high = 0, between = 0;
  bool whole = true;       // all are whole numbers
  bool integers;           // or are stored as such, and scaled
  std::set<float> values;  // up to so many
  static constexpr std::size_t most_values = 1000;

  explicit Census(const HostImage& image)
      : integers(image.stored_type != StoredType::float32 &&
                 image.stored_type != StoredType::float64) {
    for (const float v : image.voxels) {
      if (std::isnan(v)) continue;
      low = std::min(low, v);
      high = std::max(high, v);
      whole = whole && v == std::floor(v);
      if (values.size() < most_values) values.insert(v);
    }
    for (const float v : image.voxels) {
      at_low += v == low;
      at_high += v == high;
      between += v > low && v < high;
    }
  }
  /// Nearly all is either inside or outside and little lies between: a segmentation with soft
  /// edges.
  bool soft_mask() const { return values.size() >= 16 && at_high > between && at_low > between; }
  /// Whole numbers as labels have them: few, or such as leave out most of those between them, which
  /// distances that were rounded do not.
  bool of_labels() const {
    const bool few = values.size() < 16 || double(high) - low > 2.0 * double(values.size());
    return (whole || integers) && values.size() < most_values && few;
  }
};

std::string number(double v) {
  std::ostringstream text;
  if (v == std::floor(v) && std::abs(v) < 1e15)
    text << std::int64_t(v);  // a label, every digit of it
  else
    text << v;
  return text.str();
}

std::string list_of(const std::set<float>& values) {
  std::string text;
  int shown = 0;
  for (const float v : values) {
    if (v == 0) continue;
    if (shown++ == 8) return text + ", ...";
    text += (text.empty() ? "" : ", ") + number(v);
  }
  return text;
}

/// "auto" as a kind. May set the iso value of a soft mask.
std::string kind_of(SurfaceInputOptions& o, const Census& census, std::vector<std::string>& notes) {
  if (o.kind != "auto") return o.kind;
  if (o.label) return "labels";
  if (o.iso) return "image";
  if (census.low < 0 && census.high > 0) {
    require(!census.of_labels(),
            "'" + o.input + "' has values of both signs that are labels rather than distances (" +
                list_of(census.values) +
                "): choose one with --label, or give --input-kind sdf for signed distances");
    return "sdf";
  }
  if (census.values.size() <= 2) return "labels";
  if (census.soft_mask()) {
    o.iso = (double(census.low) + census.high) / 2;
    notes.push_back("taken for a segmentation with soft edges: the surface lies at " +
                    number(*o.iso) + " (--iso says otherwise)");
    return "image";
  }
  require(census.whole, "'" + o.input +
                            "' looks like a grey image: say where the surface lies with --iso, or "
                            "what it is with --input-kind");
  return "labels";
}

/// The volume as an image that is above 0.5 inside.
void make_mask(const SurfaceInputOptions& o, const Census& census, std::vector<float>& voxels) {
  float wanted = census.high == 0 ? census.low : census.high;  // beside 0 the only one
  if (o.label) {
    wanted = float(*o.label);
    require(census.values.count(wanted) > 0 || census.values.size() >= Census::most_values,
            "'" + o.input + "' has no voxel of label " + std::to_string(*o.label) +
                "; its labels are " + list_of(census.values));
  } else {
    const std::size_t labels = census.values.size() - census.values.count(0);
    require(labels <= 1 || census.values.size() == 2,
            "'" + o.input + "' holds several labels (" + list_of(census.values) +
                "): choose one with --label, or give --iso for a grey image");
  }
  for (float& v : voxels) v = v == wanted ? 1.0f : 0.0f;
  require(std::ranges::find(voxels, 1.0f) != voxels.end(),
          "'" + o.input + "' has no voxel of label " + number(wanted));
}

/// Of the voxels, how many have a neighbour on the other side of 0: few where values are distances.
double share_at_the_surface(const std::vector<float>& d, const Geometry& g) {
  const Extent n = g.extent;
  const std::size_t step[3] = {1, std::size_t(n.x), std::size_t(n.x) * n.y};
  std::size_t crossed = 0, all = 0;
  for (int z = 0; z + 1 < n.z; ++z)
    for (int y = 0; y + 1 < n.y; ++y)
      for (int x = 0; x + 1 < n.x; ++x, ++all) {
        const std::size_t i = step[2] * std::size_t(z) + step[1] * std::size_t(y) + std::size_t(x);
        bool here = false;
        for (const std::size_t one : step) here = here || (d[i] < 0) != (d[i + one] < 0);
        crossed += here;
      }
  return all > 0 ? double(crossed) / double(all) : 0;
}

/// Mean length of the gradient of a distance where it changes sign.
double mean_gradient(const std::vector<float>& d, const Geometry& g) {
  const Extent n = g.extent;
  const std::size_t step[3] = {1, std::size_t(n.x), std::size_t(n.x) * n.y};
  double sum = 0, count = 0;
  for (int z = 1; z + 1 < n.z; ++z)
    for (int y = 1; y + 1 < n.y; ++y)
      for (int x = 1; x + 1 < n.x; ++x) {
        const std::size_t i = step[2] * std::size_t(z) + step[1] * std::size_t(y) + std::size_t(x);
        bool crossed = false;
        double square = 0;
        for (int a = 0; a < 3; ++a) {
          crossed = crossed || (d[i] < 0) != (d[i + step[a]] < 0);
          const double slope = (double(d[i + step[a]]) - d[i - step[a]]) / (2 * g.spacing[a]);
          square += slope * slope;
        }
        if (!crossed || !std::isfinite(square)) continue;
        sum += std::sqrt(square);
        count += 1;
      }
  return count > 0 ? sum / count : 1;
}

/// Noise passes 0 everywhere; a mask that was resampled by a kernel with negative lobes is 0 in
/// most of its voxels, and a little below beside its edges.
void require_distances(const SurfaceInputOptions& o, const HostImage& image) {
  const auto zeros = double(std::ranges::count(image.voxels, 0.0f));
  const double share = share_at_the_surface(image.voxels, image.geometry),
               zero = zeros / double(image.voxels.size());
  const auto percent = [](double part) { return number(std::round(100 * part)); };
  require(share <= 0.5, "'" + o.input +
                            "' has values of both signs, as signed distances do, but its surface "
                            "would pass " +
                            percent(share) +
                            " % of its voxels: say what it is with --input-kind, or where the "
                            "surface of a grey image lies with --iso");
  require(zero <= 0.5, "'" + o.input +
                           "' has values of both signs, as signed distances do, but is 0 in " +
                           percent(zero) +
                           " % of its voxels: say what it is with --input-kind, or where the "
                           "surface of a grey image lies with --iso");
}

void read_volume(Context& ctx, SurfaceInputOptions o, SurfaceInput& input) {
  HostImage image = read_image(o.input);
  input.warnings = image.warnings;
  input.nonfinite_voxels = image.nonfinite_voxels;
  const Census census(image);
  require(census.low < census.high, "'" + o.input + "' holds the value " + number(census.low) +
                                        " alone: there is no surface in it");
  input.kind = kind_of(o, census, input.notes);
  if (input.kind == "sdf" && o.kind == "auto") require_distances(o, image);
  require_free(
      ctx, predict_surface_bytes(ctx, image.geometry), "the denoising",
      "close other programs, crop the image to the object, or resample it to a coarser grid");
  if (input.kind == "labels") {
    make_mask(o, census, image.voxels);
    require(std::any_of(image.voxels.begin(), image.voxels.end(), [](float v) { return v == 0; }),
            "every voxel of '" + o.input + "' is inside: there is no surface in it");
    input.distance = signed_distance(ctx, to_volume(ctx, image), 0.5, Inside::above);
  } else if (input.kind == "image") {
    require(o.iso.has_value(), "a grey image needs --iso, the value at the surface");
    require(*o.iso >= census.low && *o.iso < census.high,
            "--iso " + number(*o.iso) + " is not between the values of '" + o.input + "', " +
                number(census.low) + " and " + number(census.high));
    input.distance = signed_distance(ctx, to_volume(ctx, image), *o.iso, Inside::above);
  } else {
    require(census.low < 0 && census.high > 0,
            "the signed distances in '" + o.input + "' have one sign: there is no surface in it");
    constexpr double least_slope = 0.05;  // per mm; a resampled probability is a little below 0
    const double slope = mean_gradient(image.voxels, image.geometry);
    require(slope >= least_slope || o.kind != "auto",
            "'" + o.input +
                "' has values of both signs, as signed distances do, but changes by only " +
                number(slope) +
                " per mm where they meet: say what it is with --input-kind, or where the surface "
                "of a grey image lies with --iso");
    for (float& v : image.voxels)
      if (std::isnan(v)) v = census.high;
    input.distance = to_volume(ctx, image);
    if (slope > 0.5 && slope < 1.5) return;
    input.warnings.push_back(
        "'" + o.input + "' changes by " + number(slope) +
        " per mm at its surface, a distance by 1: it was computed again from its zero");
    input.distance = signed_distance(ctx, input.distance, 0, Inside::below);
  }
}

void read_mesh_input(Context& ctx, const SurfaceInputOptions& o, SurfaceInput& input) {
  const TriangleMesh mesh = read_mesh(o.input);
  require_closed(mesh, o.input);
  const double longest = longest_side(mesh),
               side = o.resolution_mm ? *o.resolution_mm : longest / 128;
  require(longest > 0, "the mesh '" + o.input + "' has no extent");
  if (!o.resolution_mm)
    input.notes.push_back("voxels of " + number(side) +
                          " mm, the mesh's longest side over 128 (--resolution says otherwise)");
  input.kind = "mesh";
  const Geometry grid = grid_around(mesh, side, o.margin);
  require_free(ctx, predict_surface_bytes(ctx, grid), "the denoising",
               "take a coarser grid by --resolution");
  input.distance = signed_distance(ctx, mesh, grid);
}

}  // namespace

void validate(const SurfaceInputOptions& o) {
  require(!o.input.empty(), "name the input with -i FILE");
  const std::set<std::string> kinds{"auto", "sdf", "labels", "image", "mesh"};
  require(kinds.count(o.kind) > 0,
          "--input-kind '" + o.kind + "' is not one of auto, sdf, labels, image, mesh");
  require(!o.label || !o.iso, "--label and --iso exclude each other");
  const bool mesh = o.kind == "mesh" || (o.kind == "auto" && is_mesh_name(o.input));
  require(!o.label || (!mesh && (o.kind == "auto" || o.kind == "labels")),
          "--label is for label volumes");
  require(!o.label || std::abs(std::int64_t(*o.label)) <= 16777216,
          "--label must lie between -16777216 and 16777216: voxels are read as float, which tells "
          "larger labels apart no more");
  require(!o.iso || (!mesh && (o.kind == "auto" || o.kind == "image")), "--iso is for grey images");
  require(!o.resolution_mm || mesh, "--resolution is for meshes; volumes have their voxels");
  require(!o.resolution_mm || (*o.resolution_mm > 0 && std::isfinite(*o.resolution_mm)),
          "--resolution must be positive");
}

SurfaceInput read_surface(Context& ctx, const SurfaceInputOptions& o) {
  SurfaceInput input;
  if (o.kind == "mesh" || (o.kind == "auto" && is_mesh_name(o.input)))
    read_mesh_input(ctx, o, input);
  else
    read_volume(ctx, o, input);
  return input;
}

}  // namespace freeflow::apps
