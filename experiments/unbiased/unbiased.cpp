// Does noise alone make a registration find growth or shrinkage? An image is registered with a
// noisy copy of itself by the fluid with SSD, with and without the unbiased term, in both
// directions (Yanovsky 2007, "Topology preserving log-unbiased nonlinear image registration").
// Nothing has changed between the two, so the log-Jacobian's mean and skewness should be 0 within
// their sampling errors, and change sign when the images are swapped.
//   unbiased [IMAGE] [--kl W] [--noise PERCENT] [--iterations N] [--device D]
#include <boost/program_options.hpp>

#include <cstdio>
#include <iostream>
#include <random>

#include <freeflow/deform/jacobian_bias.h>
#include <freeflow/io/image_file.h>
#include <freeflow/registration/register_images.h>

namespace po = boost::program_options;
using namespace freeflow;

namespace {

/// A texture that fills the volume, where no image is named.
HostImage phantom() {
  HostImage image;
  image.geometry.extent = {96, 96, 96};
  const auto at = [](double x, double y, double z) {
    return 100 * (2.5 + std::sin(0.21 * x + 0.3) * std::cos(0.17 * y) +
                  0.7 * std::sin(0.29 * z + 0.11 * x) + 0.4 * std::cos(0.4 * y - 0.2 * z));
  };
  for (int z = 0; z < 96; ++z)
    for (int y = 0; y < 96; ++y)
      for (int x = 0; x < 96; ++x) image.voxels.push_back(float(at(x - 47.5, y - 47.5, z - 47.5)));
  return image;
}

void add_noise(std::vector<float>& voxels, double percent, unsigned seed) {
  float high = 0;
  for (float v : voxels) high = std::max(high, v);
  std::mt19937 generator(seed);
  std::normal_distribution<float> noise(0, float(percent / 100) * high);
  for (float& v : voxels) v += noise(generator);
}

void report(const char* name, const JacobianBias& b) {
  std::printf("%-22s mean %9.5f +- %.5f  skewness %7.3f +- %.3f  sd %.4f\n", name, b.mean,
              b.mean_error, b.skewness, b.skewness_error, b.sd);
}

}  // namespace

int main(int argc, char** argv) {
  std::string file, device;
  double weight = 0, percent = 0;
  int iterations = 0;
  bool symmetric = false;
  po::options_description options("unbiased [IMAGE]");
  options.add_options()("help,h", "this")("image", po::value(&file),
                                          "a volume; a phantom where none is named")(
      "kl", po::value(&weight)->default_value(0.5), "weight of the unbiased term")(
      "noise", po::value(&percent)->default_value(5),
      "standard deviation in percent of the largest intensity")(
      "iterations", po::value(&iterations)->default_value(100), "at most")(
      "symmetric", po::bool_switch(&symmetric), "the symmetric flow instead of the fluid")(
      "device", po::value(&device)->default_value("auto"), "");
  po::positional_options_description first;
  first.add("image", 1);
  po::variables_map found;
  try {
    po::store(po::command_line_parser(argc, argv).options(options).positional(first).run(), found);
    po::notify(found);
    if (found.count("help")) return std::cout << options, 0;
    Context ctx(Device::parse(device));
    const HostImage clean = file.empty() ? phantom() : read_image(file);
    std::vector<float> noisy = clean.voxels;
    add_noise(noisy, percent, 1);
    const Volume<float> a(ctx, clean.geometry, clean.voxels), b(ctx, clean.geometry, noisy);
    const auto set = [&](auto o, double kl) {
      o.similarity.kind = SimilarityKind::ssd;
      o.levels = 1;
      o.iterations = {iterations};
      o.step = 0.1;
      o.kl = kl;
      return NonrigidModel(o);
    };
    FlowOptions both_ways;
    both_ways.symmetric = true;
    both_ways.sigma_field = {{0}};
    for (const double kl : {0.0, weight}) {
      const RegistrationOptions o{symmetric ? set(both_ways, kl) : set(FluidOptions{}, kl),
                                  std::nullopt};
      const DisplacementField ab = register_images(ctx, a, b, o).displacement,
                              ba = register_images(ctx, b, a, o).displacement;
      std::printf("--kl %g\n", kl);
      report("  clean to noisy", jacobian_bias(ctx, ab));
      report("  noisy to clean", jacobian_bias(ctx, ba));
      std::printf("  correlation of the two log-Jacobians %.3f\n",
                  log_jacobian_correlation(ctx, ab, ba));
    }
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "unbiased: " << e.what() << '\n';
    return 1;
  }
}
