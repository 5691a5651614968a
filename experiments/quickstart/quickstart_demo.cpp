// The demonstration behind ./quickstart: a real brain, a deformation that is known at every voxel,
// and the error of what was recovered.
//
//   quickstart_demo make BRAIN.nii.gz FOLDER    writes fixed, moving and truth (.nii.gz)
//   (ffdreg -f FOLDER/fixed.nii.gz -m FOLDER/moving.nii.gz -o FOLDER/brain_ --linear none)
//   quickstart_demo evaluate FOLDER             prints the error and writes picture.png
//
// With u the known displacement, fixed(x) = brain(x + u(x)) and moving(y) = contrast(brain(y)): the
// displacement that takes fixed to moving is u itself, in closed form, and only the contrast of the
// images differs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numbers>

#include <experiments/quickstart/picture.h>
#include <freeflow/deform/field_operations.h>
#include <freeflow/deform/warp.h>
#include <freeflow/io/transform_file.h>
#include <nlohmann/json.hpp>

namespace freeflow::quickstart {

namespace {

/// The known displacement in mm (LPS) at a point `p` mm off the image's centre: along each axis a
/// shear of 5 mm amplitude and a stretching of 3 mm, with wavelengths of 70 to 100 mm.
Eigen::Vector3d true_displacement(const Eigen::Vector3d& p) {
  const auto wave = [](double amplitude, double mm, double wavelength, double phase) {
    return amplitude * std::sin(2 * std::numbers::pi * mm / wavelength + phase);
  };
  return {wave(5, p.y(), 80, 0.3) + wave(3, p.x(), 90, 1.1),
          wave(5, p.z(), 70, 1.7) + wave(3, p.y(), 100, 0.2),
          wave(5, p.x(), 75, 2.4) + wave(3, p.z(), 95, 0.9)};
}

/// The same, in voxels, at every voxel of a grid.
std::vector<float> true_planes(const Geometry& grid) {
  const Eigen::Affine3d to_world = grid.index_to_world();
  const Eigen::Matrix3d to_voxels = to_world.linear().inverse();
  const Extent n = grid.extent;
  std::vector<float> planes(3 * n.count());
  std::size_t i = 0;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x, ++i) {
        const Eigen::Vector3d u =
            to_voxels * true_displacement(to_world * Eigen::Vector3d(x, y, z) - grid.center());
        for (int c = 0; c < 3; ++c) planes[std::size_t(c) * n.count() + i] = float(u[c]);
      }
  return planes;
}

/// Another contrast, as between T1 and T2: what was bright is dark, not in proportion, and the
/// outside stays 0.
std::vector<float> with_other_contrast(std::vector<float> voxels) {
  const float brightest = *std::max_element(voxels.begin(), voxels.end());
  for (float& v : voxels)
    if (v > 0) v = 100 + 900 * std::pow(1 - v / brightest, 1.5f);
  return voxels;
}

void make(const std::string& brain_path, const std::string& folder) {
  const HostImage brain = read_image(brain_path);
  std::filesystem::create_directories(folder);
  const Geometry& grid = brain.geometry;
  Context ctx;
  const DisplacementField truth(ctx, grid, true_planes(grid));
  const Volume<float> fixed = warp(ctx, to_volume(ctx, brain), grid, Eigen::Affine3d::Identity(),
                                   &truth, Interpolation::linear, 0);
  write_image(folder + "/fixed.nii.gz", grid, fixed.to_host(ctx));
  write_image(folder + "/moving.nii.gz", grid, with_other_contrast(brain.voxels));
  write_displacement(ctx, folder + "/truth.nii.gz", truth);
  const JacobianStatistics jacobian = jacobian_statistics(ctx, truth);
  std::printf(
      "wrote fixed.nii.gz, moving.nii.gz and truth.nii.gz (volume changes by %.2f to %.2f) to %s\n",
      jacobian.min, jacobian.max, folder.c_str());
}

struct Errors {
  double mean = 0, percentile_95 = 0, max = 0;
};

Errors summarise(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  Errors e;
  for (const double error : errors) e.mean += error / double(errors.size());
  e.percentile_95 = errors[std::size_t(0.95 * double(errors.size() - 1))];
  e.max = errors.back();
  return e;
}

void print(const char* when, const Errors& e) {
  std::printf("  %-7s mean %5.2f   95 %% below %5.2f   largest %5.2f\n", when, e.mean,
              e.percentile_95, e.max);
}

void evaluate(const std::string& folder) {
  const HostImage fixed = read_image(folder + "/fixed.nii.gz");
  const Geometry& grid = fixed.geometry;
  const HostField u = read_displacement(folder + "/brain_1Warp.nii.gz");
  const Eigen::Affine3d affine = read_affine(folder + "/brain_0GenericAffine.mat");
  require(same_grid(grid, u.geometry),
          "brain_1Warp.nii.gz does not lie on the grid of fixed.nii.gz; run ffdreg again");

  const Eigen::Affine3d to_world = grid.index_to_world();
  const Extent n = grid.extent;
  std::vector<double> before, after;
  std::size_t i = 0;
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x, ++i) {
        if (!(fixed.voxels[i] > 0)) continue;  // outside the head
        const Eigen::Vector3d voxel(x, y, z), point = to_world * voxel;
        const Eigen::Vector3d displaced =
            voxel +
            Eigen::Vector3d(u.planes[i], u.planes[n.count() + i], u.planes[2 * n.count() + i]);
        const Eigen::Vector3d truth = true_displacement(point - grid.center());
        before.push_back(truth.norm());
        after.push_back((affine * (to_world * displaced) - point - truth).norm());
      }
  require(!after.empty(), "fixed.nii.gz is empty");

  std::ifstream report_file(folder + "/brain_report.json");
  const nlohmann::json report = nlohmann::json::parse(report_file);
  const nlohmann::json& seconds = report.at("seconds");
  double total = 0;
  for (const auto& part : seconds) total += part.get<double>();

  std::printf("error of the deformation inside the head (%zu voxels), in mm:\n", after.size());
  print("before", summarise(before));
  const Errors recovered = summarise(after);
  print("after", recovered);
  std::printf("time: %.1f s, of which %.1f s registration, on %s (%s)\n", total,
              seconds.at("nonrigid").get<double>(),
              report.at("device").at("name").get<std::string>().c_str(),
              report.at("device").at("description").get<std::string>().c_str());
  write_picture(folder + "/picture.png", fixed, read_image(folder + "/moving.nii.gz"),
                read_image(folder + "/brain_Warped.nii.gz"), u);
  std::printf(
      "results: %s/ (picture.png shows fixed, moving, warped, checkerboard and deformation)\n",
      folder.c_str());
  constexpr double largest_mean_mm = 0.5;
  if (recovered.mean > largest_mean_mm)
    throw RegistrationError("the deformation was not recovered to 0.5 mm on average");
}

}  // namespace

}  // namespace freeflow::quickstart

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 3 && words[0] == "make") {
      freeflow::quickstart::make(words[1], words[2]);
    } else if (words.size() == 2 && words[0] == "evaluate") {
      freeflow::quickstart::evaluate(words[1]);
    } else {
      std::cerr << "usage: quickstart_demo make BRAIN.nii.gz FOLDER | evaluate FOLDER\n";
      return 2;
    }
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "quickstart_demo: " << e.what() << '\n';
    return 1;
  }
}
