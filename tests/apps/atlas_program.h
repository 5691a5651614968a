// Three subjects on disk, for tests of atlas as a user runs it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <freeflow/io/image_file.h>
#include <freeflow/io/label_file.h>

#include "apps/program_test_support.h"
#include "atlas/known_group.h"

namespace freeflow {
namespace atlas_test {

using namespace test;

inline const std::string atlas = program_path("atlas");
inline const std::string fluidreg = program_path("fluidreg");
inline const std::string regtool = program_path("regtool");
inline const std::string quick =
    " --levels 2 --iterations 6x2 --linear-search gradient --rounds 1x2 --enough 0 ";
inline const std::string outputs[] = {"template.nii.gz", "mask.nii.gz"};

class AtlasProgram : public ProgramTest {
 protected:
  static constexpr int subjects = 3;

  void SetUp() override {
    ProgramTest::SetUp();
    for (int i = 0; i < subjects; ++i) {
      const AtlasSubject s = group_subject(i, 24);
      std::vector<float> labels;
      for (const float v : s.channels[0]) labels.push_back(v > 2.6f ? 7 : v > 0.5f ? 3 : 0);
      write_image(path(s.name + ".nii"), s.geometry, s.channels[0], StoredType::float32, 1);
      write_image(path("l" + s.name + ".nii"), s.geometry, labels, StoredType::uint8, 1);
      write_image(path("m" + s.name + ".nii"), s.geometry, labels, StoredType::uint8, 1);
      images_ += " " + s.name + ".nii";
      labels_ += " l" + s.name + ".nii";
    }
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string images() const { return " -i" + images_ + " "; }
  std::string labels() const { return " --labels" + labels_ + " "; }

  /// Every result that is kept, with when it was written.
  std::map<std::string, std::filesystem::file_time_type> kept(const std::string& prefix) const {
    std::map<std::string, std::filesystem::file_time_type> found;
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(path(prefix + "state"), none))
      if (file.path().extension() != ".tmp")
        found[file.path().filename().string()] = file.last_write_time();
    return found;
  }

  /// Share of the voxels with a label in one of them that have the same in both.
  double alike(const std::string& a, const std::string& b) const {
    const HostLabels one = read_labels(path(a)), other = read_labels(path(b));
    double same = 0, either = 0;
    for (std::size_t i = 0; i < one.labels.size(); ++i) {
      either += one.labels[i] != 0 || other.labels[i] != 0;
      same += one.labels[i] != 0 && one.labels[i] == other.labels[i];
    }
    return same / either;
  }

  std::string images_, labels_;
};

}  // namespace atlas_test
}  // namespace freeflow
