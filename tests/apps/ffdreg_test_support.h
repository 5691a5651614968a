// What the tests of ffdreg share: a pair of small heads and a call that is quick.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <freeflow/io/image_file.h>

#include "apps/program_test_support.h"
#include "support/phantoms.h"

namespace freeflow::test {

inline const std::string ffdreg = program_path("ffdreg");
inline const std::string quick = " --linear none --levels 2 --iterations 25 --spacing 8mm ";
inline const std::vector<std::string> written = {"0GenericAffine.mat",   "1Warp.nii.gz",
                                                 "1InverseWarp.nii.gz",  "Warped.nii.gz",
                                                 "InverseWarped.nii.gz", "report.json"};

class Ffdreg : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("f.nii.gz", {32, 34, 20}, [](const Eigen::Vector3d& p) {
      return head(p + 2 * Eigen::Vector3d(std::sin(0.1 * p.y()), 1, 0), 18);
    });
    write("m.nii.gz", {36, 30, 22},
          [](const Eigen::Vector3d& p) { return 50 * std::exp(-0.3 * head(p, 18)); });
  }

  template <class F>
  void write(const std::string& name, Extent extent, F&& f,
             const Eigen::Vector3d& shift = Eigen::Vector3d::Zero()) {
    Geometry g = oblique_geometry(extent, {1.5, 1.4, 2.4});
    g.origin = Eigen::Vector3d::Zero();
    g.origin = -g.center();
    Context cpu;
    const std::vector<float> voxels = sample_world(cpu, g, f).to_host(cpu);
    g.origin += shift;
    write_image((folder / name).string(), g, voxels, StoredType::float32, 1);
  }
  void write_text(const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
  }
};

}  // namespace freeflow::test
