#include <apps/regtool/series_resampler.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <sstream>

#include <apps/intensities.h>
#include <apps/program.h>
#include <freeflow/core/error.h>
#include <freeflow/io/stored_voxels.h>

namespace freeflow::apps {

namespace {

bool is_integer(StoredType type) {
  return type != StoredType::float32 && type != StoredType::float64;
}

/// Whole numbers of several kinds, of which most are like their neighbours (seven tenths of a
/// brain's at 3 mm): an image has noise. What is as the first voxel, or 0, is background and says
/// nothing.
bool looks_like_labels(const std::vector<float>& values, int row) {
  const float background = values.front();
  const auto counts = [&](float v) { return v != background && v != 0; };
  std::size_t pairs = 0, alike = 0;
  float one = background;
  bool several = false;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const float here = values[i], next = values[i + 1];
    if (!(here == std::floor(here) && std::isfinite(here))) return false;
    if (!counts(here) || !counts(next) || (i + 1) % std::size_t(row) == 0) continue;
    several = several || (one != background && here != one);
    one = here;
    ++pairs;
    alike += std::size_t(here == next);
  }
  return several && double(alike) > 0.6 * double(pairs);
}

/// Doubles that are whole numbers, some of them beyond what every float holds: an atlas's labels.
bool holds_long_labels(const unsigned char* stored, std::size_t count) {
  constexpr double every_float = 1 << 24, every_double = 9007199254740992;  // 2^53
  bool some = false;
  for (std::size_t i = 0; i < count; ++i) {
    double value = 0;
    std::memcpy(&value, stored + i * sizeof value, sizeof value);
    if (!(value == std::floor(value) && std::abs(value) <= every_double)) return false;
    some = some || std::abs(value) > every_float;
  }
  return some;
}

/// What stands for the smallest value; 0 where none has one.
float smallest_stored(const std::vector<float>& stored, double slope) {
  float smallest = smallest_value(stored);
  if (slope < 0)
    for (const float v : stored) smallest = v > smallest ? v : smallest;
  return std::isfinite(smallest) ? smallest : 0;
}

/// What clamping changes by more than rounding does.
std::size_t count_beyond(StoredType type, const std::vector<float>& values) {
  std::size_t beyond = 0;
  with_stored_type(type, [&](auto one) {
    using Limits = std::numeric_limits<decltype(one)>;
    if constexpr (Limits::is_integer)
      for (const float v : values)
        beyond +=
            double(v) > double(Limits::max()) + 0.5 || double(v) < double(Limits::min()) - 0.5;
  });
  return beyond;
}

/// 0 is the default: where it does not fit, a sentence says what stands in its place.
void check_fill(const std::optional<double>& chosen, bool as_labels, const SeriesLayout& out,
                const std::string& to, std::vector<std::string>& warnings) {
  require(chosen || !as_labels, "--fill min is of images; labels take an integer");
  if (!chosen) return;
  const double fill = *chosen;
  std::ostringstream given;
  given << "--fill " << fill;
  constexpr double every_integer = 9007199254740992.0;  // of double: up to 2^53
  require(!as_labels || (fill == std::nearbyint(fill) && std::abs(fill) <= every_integer),
          given.str() + " is no label; give an integer");
  require(as_labels || !std::isfinite(fill) || std::isfinite(float(fill)),
          given.str() + " is beyond what a float holds; give another value");
  if (!is_integer(out.stored_type)) return;
  with_stored_type(out.stored_type, [&](auto one) {
    using Limits = std::numeric_limits<decltype(one)>;
    const double stored = std::nearbyint((fill - out.intercept) / out.slope);
    const double most = double(Limits::max()), least = double(Limits::min());
    std::ostringstream held;
    held << std::clamp(stored, least, most) * out.slope + out.intercept;
    if (stored >= least && stored <= most) {
      const double off = std::abs(stored * out.slope + out.intercept - fill), rounding = 1e-5;
      if (fill != 0 && off > rounding * std::max(std::abs(fill), std::abs(out.slope)))
        warnings.push_back(given.str() + " is between the values that the voxels of '" + to +
                           "' hold; where the image has no value they hold " + held.str());
      return;
    }
    require(fill == 0, given.str() + " does not fit into the voxels of '" + to +
                           "'; give another value, or a type that holds it by --type");
    warnings.push_back("the fill value 0 does not fit into the voxels of '" + to +
                       "'; where the image has no value they hold " + held.str() +
                       " (--fill, or a type that holds it by --type)");
  });
}

}  // namespace

void SeriesResampler::run(SeriesReader& reader, const std::string& from, const std::string& to,
                          std::vector<std::string>& warnings) {
  const SeriesLayout& in = reader.layout();
  for (const std::string& warning : in.warnings)  // the reference's, too, where it is the same file
    if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
  const bool vote = o_.interpolation == "labels";
  const bool scaled = in.slope != 1 || in.intercept != 0;
  if (vote && scaled)
    throw IoError("cannot read '" + from +
                  "': its header scales the values, which labels do not bear; save it plain");
  if (vote && in.colours)
    throw IoError("cannot read '" + from +
                  "': its voxels are colours, of which labels would be counted one by one; "
                  "--interpolation nearest takes them whole");
  as_labels_ = vote || (o_.interpolation == "nearest" && is_integer(in.stored_type) && !scaled);
  may_hold_labels_ = o_.interpolation == "nearest" && in.stored_type == StoredType::float64 &&
                     !scaled && o_.fill && *o_.fill == std::nearbyint(*o_.fill);
  place(in);
  from_ = from;
  to_ = to;
  nonfinite_ = 0;
  lost_ = 0;
  beyond_ = 0;
  mixes_labels_ = false;
  doubt_of_fill_.clear();
  const SeriesLayout out = output_of(in);
  check_fill(o_.fill, as_labels_, out, to, warnings);
  const auto writer = std::make_shared<SeriesWriter>(to, out, ctx_.threads());
  for (auto planes = reader.read(); !planes.empty(); planes = reader.read()) {
    stop_if_interrupted();
    files_.add([writer, voxels = resampled(planes, in, out)] { writer->write(voxels); });
  }
  files_.add([writer] { writer->close(); });
  if (mixes_labels_)
    warnings.push_back("'" + from + "' looks like labels, which " + o_.interpolation +
                       " interpolation mixes into others; add --interpolation labels");
  if (!doubt_of_fill_.empty()) warnings.push_back(doubt_of_fill_);
  if (lost_ > 0) {
    std::ostringstream said;
    said << "'" << from
         << "' has values so far from zero that single precision changes them by up to " << lost_
         << "; subtract their mean first";
    warnings.push_back(said.str());
  }
  if (beyond_ > 0)
    warnings.push_back(std::to_string(beyond_) + " values are beyond what the voxels of '" + to +
                       "' hold, which have the nearest that they do; name a larger type by --type");
  if (!out.keeps_gradients(to))
    warnings.push_back("the gradients of diffusion in '" + from + "' are not in '" + to +
                       "', which has no place for them; name an output .nrrd");
  if (nonfinite_ > 0)
    warnings.push_back("'" + from + "': " + std::to_string(nonfinite_) +
                       " voxels are NaN or infinite and count as outside");
}

void SeriesResampler::rehearse(const SeriesLayout& in) {
  place(in);
  const Volume<float> volume(ctx_, in.geometry);  // labels take as much
  interpolated(volume, 0);
}

/// Volumes of one grid share the positions that the chain leads to.
void SeriesResampler::place(const SeriesLayout& in) {
  if (in.planes() == 1)
    map_.reset();
  else if (!map_ || !same_grid(map_->image(), in.geometry))
    map_.emplace(ctx_, chain_, grid_, in.geometry);
}

Volume<float> SeriesResampler::interpolated(const Volume<float>& volume, float fill) {
  const Interpolation interpolation = o_.interpolation == "nearest" ? Interpolation::nearest
                                      : o_.interpolation == "cubic" ? Interpolation::cubic
                                                                    : Interpolation::linear;
  return map_ ? map_->resample(ctx_, volume, interpolation, fill)
              : resample(ctx_, volume, chain_, grid_, interpolation, fill);
}

/// Stored numbers are resampled, so that the header's scaling stays what it is, unless another type
/// is asked for.
SeriesLayout SeriesResampler::output_of(const SeriesLayout& in) const {
  SeriesLayout out = in;
  out.geometry = grid_;
  if (!o_.type) return out;
  require(!in.colours || *o_.type == in.stored_type,
          "--type: the colours of '" + from_ + "' stay bytes; leave it out");
  out.stored_type = *o_.type;
  out.slope = 1;
  out.intercept = 0;
  return out;
}

std::vector<unsigned char> SeriesResampler::resampled(const std::vector<unsigned char>& planes,
                                                      const SeriesLayout& in,
                                                      const SeriesLayout& out) {
  const std::size_t plane_bytes = planes.size() / std::size_t(in.planes_at_once);
  std::vector<unsigned char> all;
  for (std::size_t begin = 0; begin < planes.size(); begin += plane_bytes) {
    const unsigned char* const stored = planes.data() + begin;
    const bool long_labels =
        may_hold_labels_ && holds_long_labels(stored, in.geometry.extent.count());
    std::vector<unsigned char> one =
        as_labels_ || long_labels ? label_plane(stored, in, out) : image_plane(stored, in, out);
    if (all.empty())
      all = std::move(one);
    else
      all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::vector<unsigned char> SeriesResampler::label_plane(const unsigned char* stored,
                                                        const SeriesLayout& in,
                                                        const SeriesLayout& out) {
  const auto interpolation =
      o_.interpolation == "labels" ? LabelInterpolation::vote : LabelInterpolation::nearest;
  std::vector<std::uint64_t> labels =
      to_labels(from_, in.stored_type, stored, in.geometry.extent.count());
  const auto background = std::uint64_t(std::int64_t(o_.fill.value()));
  const NumberedLabels<std::uint64_t> numbered = number_labels(labels, background);
  std::int32_t outside = 0;
  while (numbered.of(outside) != background) ++outside;
  const Volume<std::int32_t> volume(ctx_, in.geometry, numbered.number);
  const std::vector<std::int32_t> numbers =
      (map_ ? map_->resample_labels(ctx_, volume, interpolation, outside)
            : resample_labels(ctx_, volume, chain_, grid_, interpolation, outside))
          .to_host(ctx_);
  labels.resize(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) labels[i] = numbered.of(numbers[i]);
  return from_labels(to_, out.stored_type, labels, in.stored_type);
}

void SeriesResampler::doubt_fill(float smallest, const SeriesLayout& out) {
  constexpr double far_below_soft_tissue = -500;  // in CT, where 0 is water
  const double value = double(smallest) * out.slope + out.intercept;
  if (!(value < far_below_soft_tissue)) return;
  std::ostringstream said;
  said << "'" << from_ << "' goes down to " << value << ", and '" << to_
       << "' holds 0 where it has no value; --fill min takes its smallest, --fill 0 says that this "
          "is meant";
  doubt_of_fill_ = said.str();
}

/// Work is in floats, of seven digits: what is far from zero loses what it differs by.
void SeriesResampler::count_lost_digits(const unsigned char* stored, const SeriesLayout& in,
                                        const std::vector<float>& values) {
  with_stored_type(in.stored_type, [&](auto one) {
    using T = decltype(one);
    if constexpr (sizeof(T) < 4 || std::is_same_v<T, float>) return;
    double lost = 0, most = -std::numeric_limits<double>::infinity(), below = most;
#pragma omp parallel for num_threads(ctx_.threads()) reduction(max : lost, most, below)
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, stored + i * sizeof(T), sizeof(T));
      if (!std::isfinite(double(value))) continue;
      lost = std::max(lost, std::abs(double(value) - double(values[i])));
      most = std::max(most, double(value));
      below = std::max(below, -double(value));
    }
    constexpr double visible = 1e-4;  // of the range: half a grey level of 13 bits
    const double range = most + below;
    if (range > 0 && lost > visible * range) lost_ = std::max(lost_, lost);
  });
}

std::vector<unsigned char> SeriesResampler::image_plane(const unsigned char* stored,
                                                        const SeriesLayout& in,
                                                        const SeriesLayout& out) {
  std::vector<float> values = to_floats(in.stored_type, stored, in.geometry.extent.count());
  count_lost_digits(stored, in, values);
  if (in.planes() == 1 && in.slope == 1 && in.intercept == 0 && o_.interpolation != "nearest")
    mixes_labels_ = looks_like_labels(values, in.geometry.extent.x);
  const bool unscale = out.slope != in.slope || out.intercept != in.intercept;
  std::size_t nonfinite = 0;
#pragma omp parallel for schedule(static) num_threads(ctx_.threads()) reduction(+ : nonfinite)
  for (float& value : values) {
    if (!std::isfinite(value)) value = NAN, ++nonfinite;
    if (unscale) value = float(in.slope * double(value) + in.intercept);
  }
  nonfinite_ += nonfinite;
  if (in.planes() == 1 && !o_.fill_is_chosen) doubt_fill(smallest_stored(values, out.slope), out);
  const float fill =
      o_.fill ? float((*o_.fill - out.intercept) / out.slope) : smallest_stored(values, out.slope);
  const std::vector<float> there =
      interpolated(Volume<float>(ctx_, in.geometry, values), fill).to_host(ctx_);
  if (o_.type) beyond_ += count_beyond(out.stored_type, there);
  return from_floats(out.stored_type, there.data(), there.size());
}

}  // namespace freeflow::apps
