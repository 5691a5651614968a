// regtool measure: labels of the fixed image against those of the moving one, carried over.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <apps/html.h>
#include <apps/regtool/measured.h>
#include <freeflow/evaluation/label_overlap.h>
#include <freeflow/evaluation/surface_distance.h>
#include <freeflow/io/label_file.h>
#include <freeflow/transform/resample.h>

using nlohmann::ordered_json;

namespace freeflow::apps {

namespace {

/// "1,2,3", as 64 bits: the way read_labels gives them.
std::vector<std::uint64_t> parse_labels(const std::string& list) {
  std::vector<std::uint64_t> labels;
  const char *at = list.data(), *end = at + list.size();
  for (bool more = true; more;) {
    std::int64_t with_sign = 0;
    std::uint64_t label = 0;
    auto read = std::from_chars(at, end, label);
    if (read.ec != std::errc()) {
      read = std::from_chars(at, end, with_sign);
      label = std::uint64_t(with_sign);
    }
    more = read.ptr != end && *read.ptr == ',';
    require(read.ec == std::errc() && (more || read.ptr == end),
            "--labels '" + list + "' is not a list of integers such as 1,2,3");
    require(std::find(labels.begin(), labels.end(), label) == labels.end(),
            "--labels '" + list + "' names a label twice");
    labels.push_back(label);
    at = read.ptr + 1;
  }
  return labels;
}

/// Two label volumes, numbered alike: 0 is 0, the others follow in their order.
struct LabelPair {
  Volume<std::int32_t> fixed, moving;
  std::vector<std::int32_t> chosen;  ///< numbers
  std::vector<std::string> names;    ///< of those
};

LabelPair read_pair(Context& ctx, const MeasureOptions& o, std::vector<std::string>& warnings) {
  const HostLabels fixed = read_labels(o.fixed_labels), moving = read_labels(o.moving_labels);
  add_all(warnings, fixed.warnings);
  add_all(warnings, moving.warnings);
  std::vector<std::uint64_t> named;
  if (!o.labels.empty()) named = parse_labels(o.labels);
  std::vector<std::uint64_t> all = fixed.labels;
  all.insert(all.end(), moving.labels.begin(), moving.labels.end());
  all.insert(all.end(), named.begin(), named.end());  // so that they have numbers
  const NumberedLabels<std::uint64_t> numbered = number_labels<std::uint64_t>(all, 0);
  const auto begin = numbered.number.begin(), middle = begin + std::ptrdiff_t(fixed.labels.size()),
             end = middle + std::ptrdiff_t(moving.labels.size());
  LabelPair pair;
  pair.fixed = Volume<std::int32_t>(ctx, fixed.geometry, std::vector(begin, middle));
  pair.moving = Volume<std::int32_t>(ctx, moving.geometry, std::vector(middle, end));
  pair.chosen.assign(end, numbered.number.end());
  if (named.empty()) {
    std::vector<char> seen(numbered.label.size());
    std::for_each(begin, middle, [&](std::int32_t n) { seen[std::size_t(n)] |= 1; });
    std::for_each(middle, end, [&](std::int32_t n) { seen[std::size_t(n)] |= 2; });
    for (std::int32_t n = 1; n < std::int32_t(seen.size()); ++n)
      if (seen[std::size_t(n)] == 3) pair.chosen.push_back(n);
    require(!pair.chosen.empty(), "'" + o.fixed_labels + "' and '" + o.moving_labels +
                                      "' have no label but 0 in common; name some with --labels");
  }
  const bool has_sign =
      fixed.stored_type != StoredType::uint64 && moving.stored_type != StoredType::uint64;
  for (const std::int32_t n : pair.chosen)
    pair.names.push_back(has_sign ? std::to_string(std::int64_t(numbered.of(n)))
                                  : std::to_string(numbered.of(n)));
  return pair;
}

/// Over the labels that have the figure; NaN where none has.
struct OverLabels {
  int count = 0;
  double sum = 0, least = std::numeric_limits<double>::quiet_NaN();

  void add(double value) {
    if (std::isnan(value)) return;
    ++count;
    sum += value;
    least = std::fmin(least, value);
  }
  double mean() const { return sum / count; }
};

}  // namespace

Measured measure_labels(Context& ctx, const MeasureOptions& o, const Transform& chain,
                        std::vector<std::string>& warnings) {
  const LabelPair pair = read_pair(ctx, o, warnings);
  warn_of_reference_beyond(chain, {pair.fixed.geometry(), {}, {}}, {}, warnings);
  const Volume<std::int32_t> warped =
      resample_labels(ctx, pair.moving, chain, pair.fixed.geometry());
  const std::vector<LabelOverlap> overlaps = label_overlap(ctx, pair.fixed, warped, pair.chosen);
  const std::vector<SurfaceDistance> distances =
      surface_distance(ctx, pair.fixed, warped, pair.chosen);
  const int digits = length_digits(pair.fixed.geometry().spacing.minCoeff(), 3);
  OverLabels dice, hausdorff95, mean_distance;
  ordered_json per_label;
  const double voxel_mm3 = pair.fixed.geometry().spacing.prod();
  const int volume_digits = std::clamp(int(std::ceil(-std::log10(voxel_mm3))), 0, 9);
  std::string table = "     label     Dice  HD95 mm  mean mm     fixed mm3    warped mm3\n";
  for (std::size_t i = 0; i < overlaps.size(); ++i) {
    const LabelOverlap& overlap = overlaps[i];
    const SurfaceDistance& distance = distances[i];
    const std::string& name = pair.names[i];
    dice.add(overlap.dice());
    hausdorff95.add(distance.hausdorff95_mm);
    mean_distance.add(distance.mean_mm);
    per_label["dice"][name] = overlap.dice();
    per_label["hausdorff95_mm"][name] = distance.hausdorff95_mm;
    per_label["hausdorff_mm"][name] = distance.hausdorff_mm;
    per_label["surface_distance_mm"][name] = distance.mean_mm;
    per_label["fixed_voxels"][name] = overlap.first_voxels;
    per_label["warped_voxels"][name] = overlap.second_voxels;
    const double fixed_mm3 = voxel_mm3 * double(overlap.first_voxels),
                 warped_mm3 = voxel_mm3 * double(overlap.second_voxels);
    per_label["fixed_mm3"][name] = fixed_mm3;
    per_label["warped_mm3"][name] = warped_mm3;
    table += text("%10s", name.c_str()) + cell(9, 4, overlap.dice()) +
             cell(9, digits, distance.hausdorff95_mm) + cell(9, digits, distance.mean_mm) +
             cell(14, volume_digits, fixed_mm3) + cell(14, volume_digits, warped_mm3) + '\n';
  }
  table += text("%10s", "mean") + cell(9, 4, dice.mean()) + cell(9, digits, hausdorff95.mean()) +
           cell(9, digits, mean_distance.mean()) + '\n';
  const int lacking = int(overlaps.size()) - hausdorff95.count;
  if (lacking > 0)
    warnings.push_back(std::to_string(lacking) + " of " + std::to_string(overlaps.size()) +
                       " labels are missing in the fixed or the warped volume; the mean "
                       "distances leave them out");
  ordered_json json{{"mean_dice", dice.mean()},
                    {"min_dice", dice.least},
                    {"n_labels", overlaps.size()},
                    {"mean_hausdorff95_mm", hausdorff95.mean()},
                    {"mean_surface_distance_mm", mean_distance.mean()},
                    {"n_labels_with_surfaces", hausdorff95.count}};
  json.update(per_label);
  return {table, json};
}

}  // namespace freeflow::apps
