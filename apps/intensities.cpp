#include <apps/intensities.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <freeflow/core/error.h>
#include <freeflow/registration/levels/masked_background.h>

namespace freeflow::apps {

std::pair<float, float> parse_clip(const std::string& text) {
  float low = 0, high = 0;
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto [comma, error] = std::from_chars(begin, end, low);
  const bool separated = error == std::errc() && comma != end && *comma == ',';
  const auto [rest, error_high] = std::from_chars(separated ? comma + 1 : end, end, high);
  require(separated && error_high == std::errc() && rest == end && std::isfinite(low) &&
              std::isfinite(high) && low < high,
          "--clip '" + text + "' is not of the form LOW,HIGH, such as -1000,400");
  return {low, high};
}

namespace {

float smallest_of(const float* v, std::size_t n) {
  constexpr std::size_t lanes = 32;  // side by side, as a comparison waits for the one before it
  std::array<float, lanes> low;
  low.fill(std::numeric_limits<float>::infinity());
  const std::size_t whole = n - n % lanes;
  for (std::size_t i = 0; i < whole; i += lanes)
    for (std::size_t k = 0; k < lanes; ++k)
      low[k] = v[i + k] < low[k] ? v[i + k] : low[k];  // NaN is not less
  for (std::size_t i = whole; i < n; ++i) low[0] = v[i] < low[0] ? v[i] : low[0];
  return *std::min_element(low.begin(), low.end());
}

}  // namespace

float smallest_value(const std::vector<float>& voxels) {
  // The same parts for any number of threads: of 0 and -0 it is the same one that counts.
  constexpr std::size_t part = std::size_t(1) << 20;
  const std::size_t n = voxels.size();
  std::vector<float> low((n + part - 1) / part);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < std::int64_t(low.size()); ++i) {
    const std::size_t from = std::size_t(i) * part;
    low[std::size_t(i)] = smallest_of(voxels.data() + from, std::min(part, n - from));
  }
  return smallest_of(low.data(), low.size());
}

namespace {

/// What is not of the least value.
struct Others {
  float least = std::numeric_limits<float>::infinity(), largest = -least;
  std::size_t count = 0;
};

Others others_than(float least, const HostImage& image) {
  Others others;
  for (const float v : image.voxels) {
    if (!(v > least)) continue;  // NaN is not
    ++others.count;
    others.least = std::min(others.least, v);
    others.largest = std::max(others.largest, v);
  }
  return others;
}

bool leaves_a_field_of_view(float padding, const HostImage& image) {
  std::vector<float> voxels = image.voxels;
  std::ranges::replace(voxels, padding, std::numeric_limits<float>::quiet_NaN());
  return masked_background(image.geometry.extent, voxels.data()).empty();
}

}  // namespace

std::optional<float> find_padding(const HostImage& image) {
  constexpr float padding_of_ct = -1500, gap_of_ct = 400, gap_share = 0.1f;
  constexpr double least_share = 1e-3;
  const float least = smallest_value(image.voxels);
  const bool of_ct = least < padding_of_ct;
  const auto is_between = [least](float v) { return v > least && v < 0; };  // CT soon has such
  if (!(least < 0) || (!of_ct && std::ranges::any_of(image.voxels, is_between)))
    return std::nullopt;
  const auto count = double(std::ranges::count(image.voxels, least));
  if (count < least_share * double(image.voxels.size())) return std::nullopt;
  const Others others = others_than(least, image);
  const float gap = others.least - least, range = others.largest - others.least;
  if (others.count == 0) return std::nullopt;
  const bool found =
      of_ct ? others.least >= padding_of_ct && gap >= gap_of_ct
            : range > 0 && gap >= gap_share * range && leaves_a_field_of_view(least, image);
  return found ? std::optional(least) : std::nullopt;
}

std::string said_of_padding(const std::string& file, float padding) {
  std::array<char, 32> number{};
  std::to_chars(number.data(), number.data() + number.size(), padding);
  return "'" + file + "' is padded with " + number.data() + ", which counts as not measured";
}

bool holds(const HostImage& image, float value) {
  return std::ranges::any_of(
      image.voxels, [&](float v) { return v == value || (std::isnan(value) && std::isnan(v)); });
}

bool leaves_nothing(const HostImage& image, const std::pair<float, float>& clip) {
  return std::ranges::none_of(image.voxels, [&](float v) { return v > clip.first; }) ||
         std::ranges::none_of(image.voxels, [&](float v) { return v < clip.second; });
}

double share_above(const HostImage& image, float limit) {
  std::size_t above = 0, all = 0;
  for (const float v : image.voxels) {
    above += v > limit ? 1 : 0;
    all += std::isnan(v) ? 0 : 1;
  }
  return double(above) / double(std::max<std::size_t>(all, 1));
}

bool is_cut_out(const HostImage& image) {
  return !masked_background(image.geometry.extent, image.voxels.data()).empty();
}

std::string said_of_cut_out(const std::string& file) {
  return "'" + file + "' has NaN around its object, which counts as its background";
}

namespace {

void fill_background(HostImage& image) {
  const std::vector<std::uint8_t> outside =
      masked_background(image.geometry.extent, image.voxels.data());
  const float least = smallest_value(image.voxels);
  for (std::size_t i = 0; i < outside.size(); ++i)
    if (outside[i]) image.voxels[i] = least;
}

void keep_within(HostImage& image, const VoxelBox& box) {
  const Extent n = image.geometry.extent;
  const auto within = [&box](int axis, int i) {
    return i >= box.begin[std::size_t(axis)] && i < box.end[std::size_t(axis)];
  };
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x)
        if (!within(0, x) || !within(1, y) || !within(2, z))
          image.voxels[n.offset(x, y, z)] = std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

void prepare_intensities(HostImage& image, const IntensityOptions& options) {
  const auto& [background, clip, measured, cut_out] = options;
  if (cut_out) fill_background(image);
  if (measured) keep_within(image, *measured);
  for (float& v : image.voxels) {
    if (background && v == *background)
      v = std::numeric_limits<float>::quiet_NaN();
    else if (clip && !std::isnan(v))
      v = std::clamp(v, clip->first, clip->second);
  }
}

}  // namespace freeflow::apps
