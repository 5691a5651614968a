#include <apps/images.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <numbers>
#include <utility>

#include <apps/image_sizes.h>
#include <apps/kept_images.h>
#include <apps/measured_part.h>
#include <apps/naming_convert.h>
#include <apps/regtool/chain_checks.h>
#include <freeflow/deform/warp.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/registration/linear/linear.h>
#include <freeflow/transform/affine_split.h>

#include <Eigen/SVD>

namespace freeflow::apps {

namespace {

/// A mask may come on another grid than its image; it is then sampled at the image's voxels.
void fit_mask(std::optional<HostImage>& mask, const HostImage& image, const std::string& path,
              std::vector<std::string>& warnings) {
  if (!mask) return;
  if (!same_grid(mask->geometry, image.geometry)) {
    Context cpu;
    const Volume<float> sampled =
        warp(cpu, to_volume(cpu, *mask), image.geometry, Eigen::Affine3d::Identity(), nullptr,
             Interpolation::nearest, 0);
    mask->geometry = image.geometry;
    mask->voxels = sampled.to_host(cpu);
    warnings.push_back("'" + path +
                       "' lies on another grid than its image and was resampled to it");
  }
  require(std::any_of(mask->voxels.begin(), mask->voxels.end(), [](float v) { return v > 0.5f; }),
          "the mask '" + path + "' has no voxel above 0.5 inside its image");
}

/// Unless a background was named.
void leave_padding_out(InputImage& image, std::vector<std::string>& warnings) {
  std::optional<float>& background = image.intensities.background;
  if (background) return;
  background = find_padding(image.voxels);
  if (!background) return;
  warnings.push_back(said_of_padding(image.file, *background) +
                     "; --background names another value");
}

/// Unless a background was named, which NaN may be.
void fill_around_object(InputImage& image, std::vector<std::string>& warnings) {
  if (image.intensities.background || !is_cut_out(image.voxels)) return;
  image.intensities.cut_out = true;
  warnings.push_back(said_of_cut_out(image.file) +
                     "; --background nan says that it was not measured");
}

/// What lies around a field of view was not measured. Nor, where one of the two images alone ends
/// in a plane within its grid, what lies beyond: nothing of the other one is there to be compared
/// with. Unless a mask or a background says what counts.
void leave_unmeasured_out(Inputs& inputs, bool asked_background) {
  if (asked_background) return;
  const auto part_of = [](const InputImage& image) {
    return measured_part(image.voxels, image.intensities.cut_out, image.intensities.background);
  };
  const auto fixed = part_of(inputs.fixed[0]), moving = part_of(inputs.moving[0]);
  if (fixed && moving && !fixed->fills_box && !moving->fills_box) return;
  const auto leave_out = [&](std::vector<InputImage>& channels, const VoxelBox& part,
                             const std::string& option) {
    for (InputImage& channel : channels) channel.intensities.measured = part;
    inputs.warnings.push_back("'" + channels[0].file +
                              "' ends in a plane within its grid: only its voxels " +
                              words_of(part, channels[0].voxels.geometry.extent) +
                              " count as measured; " + option + " says otherwise");
  };
  if (fixed && !inputs.fixed_mask) leave_out(inputs.fixed, fixed->box, "--fixed-mask");
  if (moving && !inputs.moving_mask) leave_out(inputs.moving, moving->box, "--moving-mask");
}

/// CT whose numbers begin at 0, or another modality, beside CT. How much lies below says nothing:
/// that is air.
void warn_of_unlike_clipping(const InputImage& fixed, const InputImage& moving,
                             const std::string& clip, std::vector<std::string>& warnings) {
  const float high = parse_clip(clip).second;
  const double of_fixed = share_above(fixed.voxels, high),
               of_moving = share_above(moving.voxels, high);
  if (std::abs(of_fixed - of_moving) <= 0.3) return;
  const auto percent = [](double share) { return std::to_string(std::lround(100 * share)) + " %"; };
  warnings.push_back("--clip " + clip + " cuts " + percent(of_fixed) + " of '" + fixed.file +
                     "' and " + percent(of_moving) + " of '" + moving.file +
                     "' at its upper end: are their numbers in one unit?");
}

/// Options that leave nothing of an image, or find nothing to do.
void check_intensities(const CommonOptions& o, Inputs& inputs) {
  const IntensityOptions asked = intensity_options(o);
  bool found = false;
  for (const auto* side : {&inputs.fixed, &inputs.moving})
    for (const InputImage& channel : *side) {
      require(!asked.clip || !leaves_nothing(channel.voxels, *asked.clip),
              "--clip " + o.clip + " leaves one value of '" + channel.file +
                  "', all of whose voxels lie to one side of it; give the range of the object");
      found = found || (asked.background && holds(channel.voxels, *asked.background));
    }
  if (asked.clip)
    for (std::size_t c = 0; c < inputs.fixed.size(); ++c)
      warn_of_unlike_clipping(inputs.fixed[c], inputs.moving[c], o.clip, inputs.warnings);
  if (asked.background && !found)
    inputs.warnings.push_back("--background " + o.background + " is the value of no voxel");
}

using ImageReader = std::function<HostImage(const std::string&)>;

/// The channels of an image, the first of which says on which grid the others lie.
std::vector<InputImage> read_channels(const std::vector<std::string>& files,
                                      const IntensityOptions& intensities,
                                      const ImageReader& read) {
  std::vector<InputImage> channels;
  channels.reserve(files.size());
  for (const std::string& file : files) channels.push_back({file, read(file), intensities});
  const InputImage& first = channels.front();
  for (InputImage& channel : channels) {
    require(same_grid(channel.voxels.geometry, first.voxels.geometry),
            "'" + channel.file + "' lies on another grid than '" + first.file +
                "', another channel of the same image; resample it first: regtool apply -i " +
                channel.file + " -r " + first.file + " -o FILE");
    channel.voxels.geometry = first.voxels.geometry;
  }
  return channels;
}

/// Of what counts, as registrations see it: padding would hold the place of the field of view.
Eigen::Vector3d center_of_mass(const InputImage& given, const std::optional<HostImage>& mask) {
  const std::optional<HostImage> copy = changed(given);
  const HostImage& image = copy ? *copy : given.voxels;
  const auto counts = [&](std::size_t i) {
    return std::isfinite(image.voxels[i]) && (!mask || mask->voxels[i] > 0.5f);
  };
  float low = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < image.voxels.size(); ++i)
    if (counts(i)) low = std::min(low, image.voxels[i]);
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  double mass = 0;
  const Extent n = image.geometry.extent;
  std::size_t i = 0;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x, ++i)
        if (counts(i)) {
          const double w = double(image.voxels[i]) - low;
          sum += w * Eigen::Vector3d(x, y, z);
          mass += w;
        }
  return mass > 0 ? image.geometry.index_to_world() * Eigen::Vector3d(sum / mass)
                  : image.geometry.center();
}

}  // namespace

Inputs read_inputs(const CommonOptions& o, KeptImages* kept) {
  Inputs inputs;
  const IntensityOptions intensities = intensity_options(o);
  auto moving = std::async(std::launch::async, [&, most = omp_get_max_threads()] {
    omp_set_num_threads(most);  // a new thread has the environment's number
    inputs.moving = read_channels(o.moving, intensities, read_image);
    if (!o.moving_mask.empty()) inputs.moving_mask = read_image(o.moving_mask);
  });
  const ImageReader read_fixed = [&](const std::string& path) {
    return kept ? kept->read(path) : read_image(path);
  };
  inputs.fixed = read_channels(o.fixed, intensities, read_fixed);
  if (!o.fixed_mask.empty()) inputs.fixed_mask = read_fixed(o.fixed_mask);
  if (kept) {
    inputs.kept_files = kept->files_of_pair();
    kept->end_of_pair();
  }
  moving.get();
  inputs.weights = similarity_choice(o).weights_of(inputs.fixed.size());
  const auto keep_warnings = [&](const HostImage& image) {
    inputs.warnings.insert(inputs.warnings.end(), image.warnings.begin(), image.warnings.end());
  };
  for (const auto* side : {&inputs.fixed, &inputs.moving})
    for (const InputImage& channel : *side) keep_warnings(channel.voxels);
  if (const auto said = said_of_sizes(inputs.fixed[0].file, inputs.fixed_image().geometry,
                                      inputs.moving[0].file, inputs.moving_image().geometry))
    inputs.warnings.push_back(*said);
  check_intensities(o, inputs);
  for (auto* side : {&inputs.fixed, &inputs.moving})
    for (InputImage& channel : *side) {
      leave_padding_out(channel, inputs.warnings);
      fill_around_object(channel, inputs.warnings);
    }
  leave_unmeasured_out(inputs, intensities.background.has_value());
  if (inputs.fixed_mask) keep_warnings(*inputs.fixed_mask);
  if (inputs.moving_mask) keep_warnings(*inputs.moving_mask);
  fit_mask(inputs.fixed_mask, inputs.fixed_image(), o.fixed_mask, inputs.warnings);
  fit_mask(inputs.moving_mask, inputs.moving_image(), o.moving_mask, inputs.warnings);
  return inputs;
}

RegistrationInputs Inputs::sizes() const {
  RegistrationInputs sizes{fixed_image().geometry,
                           moving_image().geometry,
                           fixed_mask.has_value(),
                           moving_mask.has_value(),
                           {}};
  sizes.channels = fixed.size();
  sizes.images_kept = false;
  return sizes;
}

namespace {

bool changes(const IntensityOptions& o) {
  return o.background || o.clip || o.measured || o.cut_out;
}

std::vector<Volume<float>> to_register(Context& ctx, const std::vector<InputImage>& channels) {
  std::vector<Volume<float>> volumes;
  for (const InputImage& channel : channels) {
    const std::optional<HostImage> copy = changed(channel);
    volumes.push_back(to_volume(ctx, copy ? *copy : channel.voxels));
  }
  return volumes;
}

}  // namespace

std::optional<HostImage> changed(const InputImage& image) {
  if (!changes(image.intensities)) return std::nullopt;
  HostImage copy = image.voxels;
  prepare_intensities(copy, image.intensities);
  return copy;
}

const std::vector<float>* counted(const InputImage& image, const std::optional<HostImage>& mask,
                                  std::vector<float>& own) {
  if (!image.intensities.background && !image.intensities.measured)
    return mask ? &mask->voxels : nullptr;
  own = changed(image)->voxels;
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = !std::isnan(own[i]) && (!mask || mask->voxels[i] > 0.5f);
  return &own;
}

DeviceImage::DeviceImage(Context& ctx, const std::vector<InputImage>& channels,
                         const std::optional<HostImage>& mask, const char* what)
    : prepared_(to_register(ctx, channels), mask ? to_volume(ctx, *mask) : Volume<float>(), what) {}

std::vector<Volume<float>> DeviceImage::as_they_came(
    Context& ctx, const std::vector<InputImage>& channels) const {
  std::vector<Volume<float>> images;
  for (std::size_t c = 0; c < channels.size(); ++c)
    images.push_back(changes(channels[c].intensities) ? to_volume(ctx, channels[c].voxels)
                                                      : prepared_.channel(c).as_it_came(ctx));
  return images;
}

namespace {

/// A field in another unit, or of another space, is no start: it would count as no displacement
/// wherever it does not lie.
void check_start(const std::string& path, const FileTransform& start, const Inputs& inputs) {
  const HostTransform chain{{*start.displacement, start.affine}, {}};
  const Geometry &fixed = inputs.fixed_image().geometry, &moving = inputs.moving_image().geometry;
  check_values(path, chain);
  const double share = share_inside(sample_through({{path}}, {chain}, fixed), moving);
  const auto volume = [](const Geometry& g) { return g.spacing.prod() * double(g.extent.count()); };
  if (share >= LinearOptions{}.smallest_overlap * std::min(1.0, volume(moving) / volume(fixed)))
    return;
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.2g", 100 * share);
  throw RegistrationError("the images do not overlap enough at the start that --init '" + path +
                          "' gives (" + percent +
                          " % of the fixed voxels fall on the moving image)");
}

}  // namespace

FileTransform initial_transform(const std::vector<std::string>& init, Inputs& inputs) {
  FileTransform start;
  std::error_code none;
  const auto place = std::filesystem::symlink_status(init[0], none).type();
  require(is_start_word(init[0]) || place != std::filesystem::file_type::not_found,
          "--init '" + init[0] + "': there is no such file, nor is it moments, center or identity");
  if (init[0] == "center") {
    start.affine.translation() =
        inputs.moving_image().geometry.center() - inputs.fixed_image().geometry.center();
  } else if (init[0] == "moments") {
    start.affine.translation() = center_of_mass(inputs.moving[0], inputs.moving_mask) -
                                 center_of_mass(inputs.fixed[0], inputs.fixed_mask);
  } else if (init[0] != "identity") {
    start = read_naming_convert(init[0], TransformsTaken::itk, [&] {
      return read_transform(init[0], inputs.fixed_image().geometry);
    });
  }
  if (init.size() == 2) {
    require(start.displacement.has_value(),
            "--init '" + init[0] +
                "' is no displacement field: list the field first, then the affine, as "
                "antsApplyTransforms takes them");
    const Eigen::Affine3d after =
        read_naming_convert(init[1], TransformsTaken::itk, [&] { return read_affine(init[1]); });
    start.affine = after * start.affine;
  }
  if (start.displacement) {
    check_start(init[0], start, inputs);
    inputs.warnings.insert(inputs.warnings.end(), start.displacement->warnings.begin(),
                           start.displacement->warnings.end());
    if (auto split = split_affine(start.displacement->geometry, start.displacement->planes)) {
      start.displacement->planes = std::move(split->planes);
      start.affine = start.affine * split->affine;
    }
  }
  return start;
}

Eigen::Affine3d initial_affine(const std::vector<std::string>& init, Inputs& inputs) {
  const FileTransform start = initial_transform(init, inputs);
  require(!start.displacement,
          "--init '" + init[0] +
              "' holds a displacement; a linear registration starts from a linear transform");
  return start.affine;
}

std::optional<std::string> said_of_turn(const Eigen::Affine3d& change) {
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(change.linear(),
                                              Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Eigen::Matrix3d rotation = svd.matrixU() * svd.matrixV().transpose();
  const double degrees =
      std::acos(std::clamp((rotation.trace() - 1) / 2, -1.0, 1.0)) * 180 / std::numbers::pi;
  if (degrees <= 90) return {};
  return "the images match best turned by " + std::to_string(std::lround(degrees)) +
         " degrees: does one lie mirrored, or say wrongly where left and up are? "
         "(regtool info says what a header claims)";
}

std::vector<std::string> said_of_rotation(const Eigen::Affine3d& start,
                                          const Eigen::Affine3d& found, Inputs& inputs) {
  const std::optional<std::string> said = said_of_turn(found * start.inverse());
  if (!said) return {};
  inputs.warnings.push_back(*said);
  return {*said};
}

}  // namespace freeflow::apps
