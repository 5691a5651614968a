#include "support.h"

#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <variant>

#include <freeflow/io/image_file.h>
#include <freeflow/io/image_header.h>
#include <freeflow/io/label_file.h>
#include <freeflow/io/quiet.h>
#include <freeflow/io/series_file.h>

/// libFuzzer's, before the first input.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  freeflow::silence_foreign_readers();
  omp_set_num_threads(1);  // the inputs are small
  return 0;
}

namespace freeflow::fuzz {

namespace {

std::string made_folder() {
  std::string path = (std::filesystem::temp_directory_path() / "freeflow-fuzz-XXXXXX").string();
  expect(mkdtemp(path.data()) != nullptr, "there is a folder for the input");
  // What headers name as the file of their voxels.
  const std::string beside(4096, 'v');
  const int file = open((path + "/x.raw").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  expect(write(file, beside.data(), beside.size()) == ssize_t(beside.size()), "x.raw is written");
  close(file);
  return path;
}

}  // namespace

std::string input_file(const std::string& name, const std::uint8_t* bytes, std::size_t count) {
  static const std::string folder = made_folder();
  const std::string path = folder + "/" + name;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  expect(file >= 0 && write(file, bytes, count) == ssize_t(count), "the input is written");
  close(file);
  return path;
}

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void expect_sentence(const std::string& sentence) {
  constexpr std::size_t longest = 1000;
  const bool plain = std::none_of(sentence.begin(), sentence.end(),
                                  [](unsigned char c) { return std::iscntrl(c) != 0; });
  if (plain && !sentence.empty() && sentence.size() < longest) return;
  std::fprintf(stderr, "no sentence for a user: %s\n", sentence.c_str());
  std::abort();
}

void expect_sound(const Geometry& geometry) {
  try {
    geometry.validate("what was read");
  } catch (const InvalidArgument& e) {
    expect(false, e.what());
  }
}

void expect_sound(const HostField& field) {
  expect_sound(field.geometry);
  expect(field.planes.size() == 3 * field.geometry.extent.count(), "a field has its vectors");
  expect(std::all_of(field.planes.begin(), field.planes.end(),
                     [](float value) { return std::isfinite(value); }),
         "vectors are finite");
}

void expect_sound(const FileTransform& transform) {
  expect(transform.affine.matrix().allFinite(), "an affine is finite");
  if (transform.displacement) expect_sound(*transform.displacement);
}

void expect_sound(const HostTransform& transform) {
  for (const auto& step : transform.steps)
    if (const auto* field = std::get_if<HostField>(&step))
      expect_sound(*field);
    else
      expect(std::get<Eigen::Affine3d>(step).matrix().allFinite(), "an affine is finite");
  map_point(transform, {1, 2, 3});
}

void read_as_image(const std::string& path) {
  reads([&] {
    const ImageHeader header = read_image_header(path);
    if (header.geometry) expect_sound(*header.geometry);
    if (!header.refusal.empty()) expect_sentence(header.refusal);
  });
  reads([&] { expect_sound(read_geometry(path)); });
  reads([&] {
    const HostImage image = read_image(path);
    expect_sound(image.geometry);
    expect(image.voxels.size() == image.geometry.extent.count(), "an image has its voxels");
    expect(std::none_of(image.voxels.begin(), image.voxels.end(),
                        [](float value) { return std::isinf(value); }),
           "voxels are finite or NaN");
  });
  reads([&] {
    const HostLabels labels = read_labels(path);
    expect(labels.labels.size() == labels.geometry.extent.count(), "labels have their voxels");
  });
  reads([&] {
    SeriesReader series(path);
    const std::size_t bytes = series.layout().geometry.extent.count() *
                              std::size_t(series.layout().planes_at_once) *
                              bytes_of(series.layout().stored_type);
    for (int plane = 0; plane < series.layout().planes(); plane += series.layout().planes_at_once)
      expect(series.read().size() == bytes, "a series has its planes");
    expect(series.read().empty(), "a series ends");
  });
  reads([&] { expect_sound(read_displacement(path)); });
}

}  // namespace freeflow::fuzz
