// What a free-form registration makes of its options, looked at through a penalty of the test's:
// lattices, weights, steps, and what is recorded and said of them.
#include <freeflow/registration/ffd/ffd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/phantoms.h"
#include "support/refused_options.h"

namespace freeflow {
namespace {

using namespace test;

/// Costs 3 and pulls nowhere. Remembers the lattices and weights that it was asked with.
class Spy : public Penalty {
 public:
  struct Asked {
    Extent lattice;
    Vec3f spacing;
    float weight;
  };
  explicit Spy(std::vector<Asked>& asked) : asked_(asked) {}
  void prepare(Context&, Extent) override {}
  void add_force(Context&, const LatticeView& lattice, float weight, FieldView<float>,
                 double* value) override {
    asked_.push_back({lattice.coefficients.extent, lattice.spacing, weight});
    *value = 3;
  }

 private:
  std::vector<Asked>& asked_;
};

PenaltyTerm spy(std::vector<Spy::Asked>& asked, double weight = 1) {
  return {"spy", weight, [&asked] { return std::make_unique<Spy>(asked); }};
}

/// Costs 1 wherever it is asked, and says that it would fall along x.
class Uphill : public Penalty {
 public:
  void prepare(Context&, Extent) override {}
  void add_force(Context&, const LatticeView& lattice, float, FieldView<float> force,
                 double* value) override {
    std::fill_n(force.data, lattice.coefficients.extent.count(), 1e3F);
    *value = 1;
  }
};

FfdOptions ssd(int levels, int iterations) {
  FfdOptions o;
  o.similarity.kind = SimilarityKind::ssd;
  o.levels = levels;
  o.iterations = {iterations};
  o.total_variation = o.bending = o.log_jacobian = 0;
  return o;
}

class FfdSettings : public testing::Test {
 protected:
  FfdSettings() { grid.spacing = {1, 1, 4}; }
  Volume<float> image(double shift = 0) {
    return sample_world(cpu, grid, [&](const Eigen::Vector3d& p) {
      return test::texture(p + Eigen::Vector3d(shift, 0, 0));
    });
  }
  RegistrationResult run(const FfdOptions& o, double shift = 0) {
    return register_ffd(cpu, image(shift), image(), o);
  }
  /// The lattices' spacings, level by level.
  std::vector<Eigen::Vector3d> spacings(FfdOptions o) {
    std::vector<Spy::Asked> asked;
    o.penalties = {spy(asked)};
    run(o);
    std::vector<Eigen::Vector3d> all;
    all.reserve(asked.size());
    for (const Spy::Asked& a : asked) all.emplace_back(a.spacing.x, a.spacing.y, a.spacing.z);
    return all;
  }

  Context cpu;
  Geometry grid = plain_geometry({32, 24, 12});
};

using Spacings = std::vector<Eigen::Vector3d>;

TEST_F(FfdSettings, ControlPointsAreHalvedTowardsTwoVoxelsAndMore) {
  FfdOptions o = ssd(3, 0);
  EXPECT_EQ(spacings(o), (Spacings{{12, 12, 16}, {6, 6, 8}, {3, 3, 8}}))
      << "three of the smallest side, and two of the largest";
  o.first_level = 1;
  EXPECT_EQ(spacings(o), (Spacings{{6, 6, 8}, {3, 3, 8}}));
  o = ssd(2, 0);
  o.spacing = {9, true};
  EXPECT_EQ(spacings(o), (Spacings{{18, 18, 18}, {9, 9, 9}}));
  grid.spacing.z() = 5;
  EXPECT_EQ(spacings(ssd(3, 0)), (Spacings{{12, 12, 10}, {6, 6, 10}, {3, 3, 10}}))
      << "12 is nearer to 10 than to 20, in ratio";
}

TEST_F(FfdSettings, ControlPointsReachTheLastVoxelOfTheCoarsestLevel) {
  grid = plain_geometry({33, 24, 12});
  std::vector<Spy::Asked> asked;
  FfdOptions o = ssd(3, 0);
  o.spacing.value = 8;
  o.penalties = {spy(asked)};
  run(o);
  const Spy::Asked& coarsest = asked.front();
  EXPECT_EQ(coarsest.spacing.x, 32);
  EXPECT_GE((coarsest.lattice.x - 3) * coarsest.spacing.x, 33.5F) << "where its ninth voxel lies";
}

TEST_F(FfdSettings, CostsAreTheSimilarityAndTheWeightedPenalties) {
  const DisplacementField u(
      cpu, grid, field_planes(grid.extent, [](int x, int y, int z) { return wave(x, y, z, 2); }));
  std::vector<Spy::Asked> asked;
  FfdOptions o = ssd(2, 2);
  o.initial_displacement = &u;
  o.total_variation = 0.5, o.bending = 0.25, o.log_jacobian = 0.125;
  std::vector<Spy::Asked> none;
  o.penalties = {spy(asked, 2), spy(none, 0)};
  const RegistrationResult r = run(o, 1);
  ASSERT_EQ(r.levels.size(), 2u);
  for (int l = 0; l < 2; ++l) {
    const LevelRecord& level = r.levels[std::size_t(l)];
    const double s = l == 0 ? 6 : 3, range = 0.1;  // of the sum of squares
    EXPECT_EQ(level.penalty_names, (std::vector<std::string>{"total_variation", "bending_energy",
                                                             "log_jacobian", "spy", "spy"}));
    ASSERT_GT(level.iterations.size(), 1u);
    for (const IterationRecord& i : level.iterations) {
      ASSERT_EQ(i.penalties.size(), 5u);
      EXPECT_EQ(i.penalties[3], 3);
      EXPECT_EQ(i.penalties[4], 0) << "what weighs nothing is not asked";
      const double penalties = range * (0.5 * i.penalties[0] + 0.25 * s * s * i.penalties[1] +
                                        0.125 * (s / 3) * (s / 3) * i.penalties[2]);
      EXPECT_GT(penalties, 0.01 * i.similarity);
      EXPECT_NEAR(i.cost, i.similarity + penalties + 2 * 3, 1e-6 * i.cost);
    }
  }
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(asked.front().weight, 2);
}

TEST_F(FfdSettings, AStepIsHalfAVoxelAtFirstAndOfTwoHundredthsAtLast) {
  FfdOptions o = ssd(2, 9);
  o.penalties = {{"uphill", 1, [] { return std::make_unique<Uphill>(); }}};
  const RegistrationResult r = run(o, 1);
  for (const LevelRecord& level : r.levels) {
    EXPECT_EQ(level.evaluations, 1 + 7) << "1/2, 1/4 ... 1/128 of a voxel";
    EXPECT_EQ(level.stopped_because, "no step lowers the cost further");
  }
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_TRUE(r.warnings[0].starts_with("no level lowered the cost")) << r.warnings[0];
  o = ssd(2, 1);
  o.optimizer = OptimizerKind::gradient;
  const RegistrationResult first = run(o, 1);
  EXPECT_NEAR(first.levels[0].iterations.at(1).step_mm, 1, 1e-5) << "voxels of 2 mm";
  EXPECT_NEAR(first.levels[1].iterations.at(1).step_mm, 0.5, 1e-5);
  EXPECT_TRUE(first.warnings.empty());
  EXPECT_TRUE(run(ssd(2, 0), 1).warnings.empty()) << "nothing was to be gained";
  o = ssd(1, 20);
  o.tolerance = 1e6;
  EXPECT_EQ(run(o, 1).levels[0].iterations.size(), 6u) << "the fewest that are judged";
}

TEST_F(FfdSettings, WarnsWherePointsLieFartherApartThanAskedOrFold) {
  const auto warned = [&](const FfdOptions& o, const char* words) {
    const std::vector<std::string> all = run(o).warnings;
    return std::ranges::any_of(all, [&](const auto& w) { return w.find(words) != w.npos; });
  };
  FfdOptions o = ssd(1, 0);
  EXPECT_FALSE(warned(o, "FfdOptions::spacing"));
  o.spacing.value = 2;
  EXPECT_FALSE(warned(o, "FfdOptions::spacing")) << "as asked";
  for (const ControlSpacing& less : {ControlSpacing{1.5}, ControlSpacing{1.9, true}}) {
    o.spacing = less;
    EXPECT_TRUE(warned(o, "FfdOptions::spacing"));
  }
  grid = plain_geometry({24, 12, 12});
  const DisplacementField u(cpu, grid, field_planes(grid.extent, [](int x, int, int) {
                              return Eigen::Vector3d(3 * std::sin(0.5 * x), 0, 0);
                            }));
  o = ssd(1, 0);
  o.initial_displacement = &u;
  o.with_control_points = true;
  EXPECT_TRUE(warned(o, "the control points are those before"));
}

TEST_F(FfdSettings, OneVoxelAtATimeIsASliceAtATime) {
  FfdOptions o = ssd(1, 2);
  o.similarity.kind = SimilarityKind::nmi;
  const std::vector<float> whole = run(o, 1).displacement.to_host(cpu);
  for (const std::size_t voxels : {std::size_t(1), std::size_t(2 * 32 * 24)}) {
    o.slab_voxels = voxels;
    EXPECT_EQ(run(o, 1).displacement.to_host(cpu), whole) << voxels;
  }
}

TEST_F(FfdSettings, IterationsGrowTowardsTheCoarsestLevel) {
  FfdOptions o;
  o.levels = 4;
  const auto of_levels = [&] {
    std::vector<int> all;
    all.reserve(std::size_t(o.levels));
    for (int l = 0; l < o.levels; ++l) all.push_back(o.iterations_of_level(l));
    return all;
  };
  EXPECT_EQ(of_levels(), (std::vector<int>{100, 100, 60, 20}));
  o.iterations = {7};
  EXPECT_EQ(of_levels(), (std::vector<int>{7, 7, 7, 7}));
  o.iterations = {1, 2, 3, 4};
  EXPECT_EQ(of_levels(), (std::vector<int>{1, 2, 3, 4}));
}

TEST_F(FfdSettings, ThatCannotBeAreRefusedByName) {
  EXPECT_EQ(sentence_of<FfdOptions>([](FfdOptions&) {}), "");
  for (const double wrong : {-1.0, 1e10, double(NAN)}) {
    EXPECT_TRUE(sentence_of<FfdOptions>([&](FfdOptions& o) {
                  o.log_jacobian = wrong;
                }).starts_with("FfdOptions::log_jacobian "));
    EXPECT_TRUE(sentence_of<FfdOptions>([&](FfdOptions& o) {
                  o.total_variation = wrong;
                }).starts_with("FfdOptions::total_variation "));
    EXPECT_TRUE(sentence_of<FfdOptions>([&](FfdOptions& o) {
                  o.spacing.value = wrong;
                }).starts_with("FfdOptions::spacing "));
  }
  for (const double wrong : {-1e-9, double(NAN), double(INFINITY)})
    EXPECT_TRUE(sentence_of<FfdOptions>([&](FfdOptions& o) {
                  o.tolerance = wrong;
                }).starts_with("FfdOptions::tolerance "));
  EXPECT_TRUE(sentence_of<FfdOptions>([](FfdOptions& o) {
                o.slab_voxels = 0;
              }).starts_with("FfdOptions::slab_voxels "));
}

}  // namespace
}  // namespace freeflow
