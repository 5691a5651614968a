// Makes and measures what experiments/accuracy/run needs beside real images.
//
//   accuracy_scenes warp IMAGE --largest MM [--width W] [--seed N] [--labels L] [--shrink N] --out
//   FOLDER
//     image.nii.gz: IMAGE(x + u(x)); labels.nii.gz: L likewise; truth.nii.gz: u (ITK's mm, LPS).
//     u takes image.nii.gz to IMAGE, and to any other image that lies on it.
//   accuracy_scenes harm IMAGE [--labels L] [--crop SHARE] [--slices N] [--shrink N] [--lesion MM]
//     [--bias SHARE] [--noise SHARE] [--seed N] --out FOLDER
//     image.nii.gz, harmed in this order; labels.nii.gz: L cut alike, 0 in the lesion.
//   accuracy_scenes store IMAGE --axes +y-x+z --out FOLDER       image.nii.gz, stored in that order
//   accuracy_scenes compare MASK -t FILE ... --truth FILE ...
//     how far apart the two chains take the mask's points, in mm, as JSON; no file: the identity
//   accuracy_scenes phantom --out FOLDER                         image.nii.gz, labels.nii.gz
#include <boost/program_options.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include <experiments/accuracy/scene_making.h>
#include <freeflow/deform/warp.h>
#include <freeflow/io/transform_file.h>
#include <freeflow/io/transforms/host_transform.h>

namespace po = boost::program_options;

namespace freeflow::accuracy {

namespace {

struct Options {
  std::string command, input, labels, axes, out;
  std::vector<std::string> transforms, truth;
  WarpOptions warp;
  double bias = 0, noise = 0, lesion_mm = 0, crop = 0;
  int shrink = 1, slices = 0;
  std::string file(const char* name) const { return out + "/" + name; }
};

void write_labels_as_image(const std::string& path, const HostImage& labels) {
  write_image(path, labels.geometry, labels.voxels, StoredType::int16);
}

void make_warp(const Options& o) {
  Context ctx;
  const HostImage image = shrink(read_image(o.input), o.shrink);
  const Geometry& grid = image.geometry;
  const KnownWarp known = known_warp(ctx, grid, find_object(image), o.warp);
  const auto through = [&](const HostImage& what, Interpolation how, float fill) {
    return warp(ctx, to_volume(ctx, what), grid, Eigen::Affine3d::Identity(), &known.u, how, fill)
        .to_host(ctx);
  };
  const float darkest = *std::min_element(image.voxels.begin(), image.voxels.end());
  write_image(o.file("image.nii.gz"), grid, through(image, Interpolation::linear, darkest));
  write_displacement(ctx, o.file("truth.nii.gz"), known.u);
  if (!o.labels.empty()) {
    HostImage labels;
    labels.geometry = grid;
    labels.voxels = through(read_image(o.labels), Interpolation::nearest, 0);
    write_labels_as_image(o.file("labels.nii.gz"), labels);
  }
  std::printf(
      "{\"largest_mm\": %.6f, \"mean_mm\": %.6f, \"corner_folds\": %zu, "
      "\"corner_jacobian_min\": %.6f, \"width\": %.4f}\n",
      known.quality.max_mm, known.quality.mean_mm, known.quality.corner_folds,
      known.quality.corner_jacobian_min, known.width);
}

void make_harmed(const Options& o) {
  HostImage image = read_image(o.input), labels;
  if (!o.labels.empty()) labels = read_image(o.labels);
  const auto with = o.labels.empty() ? std::vector<HostImage*>{} : std::vector{&labels};
  if (o.crop > 0) crop(image, with, o.crop);
  if (o.slices != 0) keep_slices(image, with, o.slices);
  image = shrink(image, o.shrink);
  if (o.lesion_mm > 0) {
    const std::vector<float> inside = add_lesion(image, o.lesion_mm);
    if (!o.labels.empty()) {
      require(same_grid(image.geometry, labels.geometry),
              "labels are freed of a lesion on the image's grid only: make it without --shrink");
      for (std::size_t i = 0; i < inside.size(); ++i)
        if (inside[i] > 0) labels.voxels[i] = 0;
    }
  }
  if (o.bias > 0) add_bias(image, o.bias, o.warp.seed);
  if (o.noise > 0) add_noise(image, o.noise, o.warp.seed);
  write_image(o.file("image.nii.gz"), image.geometry, image.voxels);
  if (!o.labels.empty()) write_labels_as_image(o.file("labels.nii.gz"), labels);
}

void make_stored(const Options& o) {
  const HostImage image = stored_as(read_image(o.input), o.axes);
  write_image(o.file("image.nii.gz"), image.geometry, image.voxels);
}

void make_phantom(const Options& o) {
  const Phantom made = phantom();
  write_image(o.file("image.nii.gz"), made.image.geometry, made.image.voxels);
  write_labels_as_image(o.file("labels.nii.gz"), made.labels);
}

HostTransform chain(const std::vector<std::string>& files) {
  HostTransform result;
  for (const std::string& path : files) {
    FileTransform read = read_transform(path);
    if (read.displacement) result.steps.emplace_back(std::move(*read.displacement));
    result.steps.emplace_back(read.affine);
  }
  return result;
}

void compare(const Options& o) {
  const HostImage mask = read_image(o.input);
  const HostTransform result = chain(o.transforms), truth = chain(o.truth);
  const Eigen::Affine3d to_world = mask.geometry.index_to_world();
  const Extent n = mask.geometry.extent;
  std::vector<double> apart(n.count(), -1);
#pragma omp parallel for schedule(dynamic)
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) {
        const std::size_t i = VolumeView<float>{nullptr, n}.offset(x, y, z);
        if (!(mask.voxels[i] > 0)) continue;
        const Eigen::Vector3d p = to_world * Eigen::Vector3d(x, y, z);
        apart[i] = (map_point(result, p) - map_point(truth, p)).norm();
      }
  std::erase_if(apart, [](double a) { return a < 0; });
  require(!apart.empty(), "the mask is empty");
  double sum = 0;
  for (const double a : apart) sum += a;
  std::sort(apart.begin(), apart.end());
  std::printf(
      "{\"voxels\": %zu, \"mean_mm\": %.9g, \"median_mm\": %.9g, \"p95_mm\": %.9g, "
      "\"max_mm\": %.9g}\n",
      apart.size(), sum / double(apart.size()), apart[apart.size() / 2],
      apart[std::size_t(0.95 * double(apart.size() - 1))], apart.back());
}

po::options_description flags(Options& o) {
  po::options_description all("accuracy_scenes warp|harm|store|compare|phantom [INPUT]");
  auto add = all.add_options();
  add("help,h", "this");
  add("command", po::value(&o.command), "");
  add("input", po::value(&o.input), "");
  add("labels", po::value(&o.labels), "labels that are changed with the image");
  add("largest", po::value(&o.warp.largest_mm), "warp: largest displacement, mm");
  add("width", po::value(&o.warp.width), "warp: 1 is smooth, 0.4 is not");
  add("seed", po::value(&o.warp.seed), "of what is random");
  add("shrink", po::value(&o.shrink), "means of blocks of so many voxels");
  add("bias", po::value(&o.bias), "harm: 0.4 for a field of +-40 %");
  add("noise", po::value(&o.noise), "harm: 0.05 for 5 % of white");
  add("lesion", po::value(&o.lesion_mm), "harm: diameter, mm");
  add("crop", po::value(&o.crop), "harm: share of the object to cut off");
  add("slices", po::value(&o.slices), "harm: how many in the middle of the last axis are left");
  add("axes", po::value(&o.axes), "store: the old axes in the new order");
  add("transform,t", po::value(&o.transforms), "compare: a chain, first applied first");
  add("truth", po::value(&o.truth), "compare: the other chain");
  add("out", po::value(&o.out), "folder of the files");
  return all;
}

int perform(int argc, char** argv) {
  Options o;
  const po::options_description all = flags(o);
  po::positional_options_description positions;
  positions.add("command", 1).add("input", 1);
  po::variables_map found;
  po::store(po::command_line_parser(argc, argv).options(all).positional(positions).run(), found);
  po::notify(found);
  if (found.count("help")) return std::cout << all, 0;
  require(o.command == "phantom" || !o.input.empty(), "no input");
  if (o.command == "compare") return compare(o), 0;
  require(!o.out.empty(), "--out names the folder of the files");
  std::filesystem::create_directories(o.out);
  if (o.command == "warp") {
    make_warp(o);
  } else if (o.command == "harm") {
    make_harmed(o);
  } else if (o.command == "store") {
    make_stored(o);
  } else if (o.command == "phantom") {
    make_phantom(o);
  } else {
    throw InvalidArgument("no command '" + o.command + "'");
  }
  return 0;
}

}  // namespace

}  // namespace freeflow::accuracy

int main(int argc, char** argv) {
  try {
    return freeflow::accuracy::perform(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "accuracy_scenes: " << e.what() << '\n';
    return 1;
  }
}
