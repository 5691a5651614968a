#include <freeflow/io/transforms/elastix.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <locale>
#include <map>
#include <sstream>

#include <freeflow/io/orientation.h>
#include <freeflow/io/transforms/bspline.h>
#include <freeflow/io/transforms/chain.h>

namespace freeflow {

namespace {

/// "(Key value value ...)" a line; values are numbers or stand in quotes, and remarks behind the
/// end. Throws IoError where the end is missing.
std::vector<std::string> words_of(const std::string& path, const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = 1; at < line.size(); ++at) {
    if (line[at] == ')') return words;
    if (line[at] == ' ' || line[at] == '\t') continue;
    const bool quoted = line[at] == '"';
    const std::size_t begin = at + (quoted ? 1 : 0);
    at = line.find_first_of(quoted ? "\"" : " \t)", begin);
    if (at == std::string::npos) break;
    words.push_back(line.substr(begin, at - begin));
    if (!quoted) --at;
  }
  fail_reading(path, "it is cut short after '" + line.substr(0, 40) + "'");
}

class Parameters {
 public:
  explicit Parameters(const std::string& path) : path_(path) {
    size_of_readable_file(path);
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
      if (!line.starts_with('(')) continue;
      std::vector<std::string> words = words_of(path, line);
      if (words.empty()) continue;
      const std::string key = words.front();
      words.erase(words.begin());
      values_[key] = std::move(words);
    }
  }

  const std::string& path() const { return path_; }
  /// The first of its values; `otherwise` where it has none.
  std::string word(const std::string& key, const std::string& otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() || found->second.empty() ? otherwise : found->second.front();
  }

  std::vector<double> numbers(const std::string& key, std::size_t count) const {
    const auto found = values_.find(key);
    if (found == values_.end() || found->second.size() != count)
      fail_reading(path_, "it lacks (" + key + " ...) with " + std::to_string(count) + " numbers");
    std::vector<double> numbers;
    numbers.reserve(count);
    for (const std::string& text : found->second) {
      double value = NAN;
      const char* const end = text.data() + text.size();
      const auto read = std::from_chars(text.data(), end, value);
      if (read.ec != std::errc() || read.ptr != end || !std::isfinite(value))
        fail_number(key, text);
      numbers.push_back(value);
    }
    return numbers;
  }

  Eigen::Vector3d vector(const std::string& key) const {
    return Eigen::Map<const Eigen::Vector3d>(numbers(key, 3).data());
  }

 private:
  [[noreturn]] void fail_number(const std::string& key, const std::string& text) const {
    fail_reading(path_, "'" + text + "' in (" + key + " ...) is no finite number");
  }

  std::string path_;
  std::map<std::string, std::vector<std::string>> values_;
};

/// A grid of elastix: its directions stand column by column, its origin is that of index 0.
Geometry grid_named(const Parameters& p, const std::string& begin,
                    std::vector<std::string>& warnings) {
  constexpr double most = 1 << 20;
  const Eigen::Vector3d sizes = p.vector(begin + "Size");
  Geometry grid;
  grid.spacing = p.vector(begin + "Spacing");
  if (!(sizes.minCoeff() >= 1) || !(sizes.maxCoeff() <= most) || !(grid.spacing.minCoeff() > 0))
    fail_reading(p.path(),
                 "its (" + begin + "Size ...) or (" + begin + "Spacing ...) is of no grid");
  const std::array<std::int64_t, 3> counts{std::int64_t(sizes[0]), std::int64_t(sizes[1]),
                                           std::int64_t(sizes[2])};
  count_voxels(p.path(), counts);
  grid.extent = {int(counts[0]), int(counts[1]), int(counts[2])};
  grid.direction = Eigen::Map<const Eigen::Matrix3d>(p.numbers(begin + "Direction", 9).data());
  make_orthonormal(p.path(), grid, warnings);
  grid.origin = p.vector(begin + "Origin") +
                grid.direction * grid.spacing.cwiseProduct(p.vector(begin + "Index"));
  return grid;
}

Eigen::Affine3d about(const Eigen::Vector3d& centre, const Eigen::Matrix3d& linear,
                      const Eigen::Vector3d& translation) {
  Eigen::Affine3d map = Eigen::Affine3d::Identity();
  map.linear() = linear;
  map.translation() = centre + translation - linear * centre;
  return map;
}

/// ITK's Euler3DTransform, Similarity3DTransform, AffineTransform and TranslationTransform.
std::optional<Eigen::Affine3d> linear_of(const Parameters& p, const std::string& kind) {
  const auto values = [&](std::size_t count) { return p.numbers("TransformParameters", count); };
  const auto of = [](const std::vector<double>& v, std::size_t first) {
    return Eigen::Vector3d(v[first], v[first + 1], v[first + 2]);
  };
  if (kind == "TranslationTransform")
    return Eigen::Affine3d(Eigen::Translation3d(of(values(3), 0)));
  if (kind != "EulerTransform" && kind != "SimilarityTransform" && kind != "AffineTransform")
    return std::nullopt;
  const Eigen::Vector3d centre = p.vector("CenterOfRotationPoint");
  if (kind == "EulerTransform") {
    const std::vector<double> v = values(6);
    const Eigen::AngleAxisd x(v[0], Eigen::Vector3d::UnitX()), y(v[1], Eigen::Vector3d::UnitY()),
        z(v[2], Eigen::Vector3d::UnitZ());
    const bool zyx = p.word("ComputeZYX", "false") == "true";
    return about(centre, (zyx ? z * y * x : z * x * y).toRotationMatrix(), of(v, 3));
  }
  if (kind == "SimilarityTransform") {
    const std::vector<double> v = values(7);
    const Eigen::Vector3d versor = of(v, 0);
    const double w = std::sqrt(std::max(0.0, 1 - versor.squaredNorm()));
    const Eigen::Quaterniond turn(w, versor.x(), versor.y(), versor.z());
    return about(centre, v[6] * turn.normalized().toRotationMatrix(), of(v, 3));
  }
  const std::vector<double> v = values(12);
  return about(centre, Eigen::Map<const Eigen::Matrix3d>(v.data()).transpose(), of(v, 9));
}

/// A cubic B-spline of displacements in mm, x fastest, one component after the other.
struct Spline {
  Geometry lattice;
  Eigen::Affine3d to_lattice;
  std::vector<float> mm;

  /// Outside its domain it displaces nothing, as in ITK.
  Eigen::Vector3d map(const Eigen::Vector3d& point) const {
    return point + itk_displacement(mm, lattice.extent, to_lattice * point);
  }
};

using Step = std::variant<Eigen::Affine3d, Spline>;

Step step_of(const Parameters& p, std::vector<std::string>& warnings) {
  const std::string kind = p.word("Transform", "");
  if (const auto linear = linear_of(p, kind)) return *linear;
  if (kind.empty()) fail_reading(p.path(), "it lacks (Transform ...): its beginning was left out");
  if ((kind != "BSplineTransform" && kind != "RecursiveBSplineTransform") ||
      p.word("BSplineTransformSplineOrder", "3") != "3" ||
      p.word("UseCyclicTransform", "false") == "true")
    fail_reading(p.path(),
                 "its " + kind + " is not read; let transformix -def all write its field");
  Spline spline{grid_named(p, "Grid", warnings), {}, {}};
  spline.to_lattice = spline.lattice.world_to_index();
  const std::vector<double> mm =
      p.numbers("TransformParameters", 3 * spline.lattice.extent.count());
  spline.mm.assign(mm.begin(), mm.end());
  return spline;
}

/// As it is named, from here or beside the file that names it.
std::string initial_of(const Parameters& p) {
  std::string named;
  for (const char* key :
       {"InitialTransformParameterFileName", "InitialTransformParametersFileName"})
    if (named.empty()) named = p.word(key, "");
  if (named.empty() || named == "NoInitialTransform") return {};
  if (p.word("HowToCombineTransforms", "Compose") != "Compose")
    fail_reading(p.path(),
                 "it adds its transform to the initial one, which is not read; let transformix "
                 "-def all write its field");
  namespace fs = std::filesystem;
  std::error_code none;
  const std::string last = named.substr(named.find_last_of("/\\") + 1);  // of another system
  for (const fs::path& file : {fs::path(named), fs::path(p.path()).parent_path() / named,
                               fs::path(p.path()).parent_path() / last})
    if (fs::exists(file, none)) return file.string();
  fail_reading(p.path(), "its initial transform '" + named +
                             "' is not there; put it beside the file that names it");
}

}  // namespace

HostTransform read_elastix(const std::string& path, const TransformContext& context) {
  constexpr std::size_t most_files = 32;
  HostTransform transform;
  std::vector<Step> steps;  // the last first
  std::optional<Geometry> fixed = context.fixed;
  for (std::string file = path; !file.empty();) {
    if (steps.size() == most_files) fail_reading(path, "its initial transforms name each other");
    const Parameters p(file);
    if (p.word("FixedImageDimension", "3") != "3" || p.word("MovingImageDimension", "3") != "3")
      fail_reading(file, "it is of images that are not of three dimensions");
    if (p.word("UseDirectionCosines", "true") == "false")
      fail_reading(file,
                   "it leaves the images' directions out (UseDirectionCosines); register with "
                   "them, as elastix advises");
    steps.push_back(step_of(p, transform.warnings));
    const bool is_spline = std::holds_alternative<Spline>(steps.back());
    if (is_spline && !fixed) fixed = grid_named(p, "", transform.warnings);
    file = initial_of(p);
  }
  std::ranges::reverse(steps);
  if (std::ranges::none_of(steps,
                           [](const Step& s) { return std::holds_alternative<Spline>(s); })) {
    Eigen::Affine3d whole = Eigen::Affine3d::Identity();
    for (const Step& step : steps) whole = std::get<Eigen::Affine3d>(step) * whole;
    transform.steps.emplace_back(whole);
    return transform;
  }
  const Eigen::Affine3d to_world = fixed->index_to_world(), to_index = fixed->world_to_index();
  transform.steps.emplace_back(
      make_field(path, *fixed, transform.warnings, [&](std::size_t, const Eigen::Vector3d& index) {
        Eigen::Vector3d point = to_world * index;
        for (const Step& step : steps) {
          const auto* affine = std::get_if<Eigen::Affine3d>(&step);
          point = affine ? *affine * point : std::get<Spline>(step).map(point);
        }
        return (to_index * point - index).eval();
      }));
  return transform;
}

void write_elastix(const std::string& path, const HostTransform& transform,
                   const TransformContext& context) {
  const Eigen::Affine3d affine = affine_to_write(path, transform);
  const Geometry& grid =
      need(context.fixed, path, "fixed", "elastix' files hold the grid of the fixed image");
  const Eigen::Vector3d centre = grid.center(), translation = affine * centre - centre;
  const Eigen::Matrix3d linear = affine.linear();
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::setprecision(17);
  const auto line = [&](const char* key, const auto&... values) {
    text << '(' << key;
    ((text << ' ' << values), ...);
    text << ")\n";
  };
  const auto vector = [&](const char* key, const Eigen::Vector3d& v) {
    line(key, v.x(), v.y(), v.z());
  };
  line("Transform", "\"AffineTransform\"");
  line("NumberOfParameters", 12);
  text << "(TransformParameters";
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column) text << ' ' << linear(row, column);
  text << ' ' << translation.x() << ' ' << translation.y() << ' ' << translation.z() << ")\n";
  vector("CenterOfRotationPoint", centre);
  for (const char* key :
       {"InitialTransformParameterFileName", "InitialTransformParametersFileName"})
    line(key, "\"NoInitialTransform\"");
  line("HowToCombineTransforms", "\"Compose\"");
  for (const char* key : {"FixedImageDimension", "MovingImageDimension"}) line(key, 3);
  for (const char* key : {"FixedInternalImagePixelType", "MovingInternalImagePixelType"})
    line(key, "\"float\"");
  line("Size", grid.extent.x, grid.extent.y, grid.extent.z);
  line("Index", 0, 0, 0);
  vector("Spacing", grid.spacing);
  vector("Origin", grid.origin);
  text << "(Direction";
  for (int column = 0; column < 3; ++column)
    for (int row = 0; row < 3; ++row) text << ' ' << grid.direction(row, column);
  text << ")\n";
  line("UseDirectionCosines", "\"true\"");
  line("ResampleInterpolator", "\"FinalBSplineInterpolator\"");
  line("FinalBSplineInterpolationOrder", 3);
  line("Resampler", "\"DefaultResampler\"");
  line("DefaultPixelValue", 0);
  line("ResultImageFormat", "\"nii\"");
  line("ResultImagePixelType", "\"float\"");
  write_text(path, text.str());
}

}  // namespace freeflow
