// A measure and a penalty that a stranger wrote, in every pipeline. Compiled as a stranger
// compiles: a C++ compiler and the installed headers, so their bodies run on the CPU, and a GPU
// refuses them with a sentence.
#include <freeflow/core/for_each_voxel.h>
#include <freeflow/core/reduce.h>
#include <freeflow/deform/warp.h>
#include <freeflow/registration/register_images.h>

#include <gtest/gtest.h>

#include <cmath>

#include "support/registrations.h"

namespace freeflow {
namespace {

using namespace test;

/// The mean over the overlap of sqrt(d^2 + e^2) - e, d the difference of intensities in parts of
/// the fixed image's range.
class Charbonnier : public SimilarityMeasure {
 public:
  void set_ranges(const IntensityRange& fixed, const IntensityRange&) override {
    scale_ = 1 / (fixed.high - fixed.low);
  }
  void prepare(Context& ctx, const ImagePair& images) override {
    fixed_ = images.fixed.view();
    moving_ = images.moving.view();
    map_ = images.fixed_to_moving;
    warped_ = Volume<float>(ctx, images.fixed.geometry());
    work_ = ReduceWorkspace(ctx, fixed_.extent.count(), 2);
    sums_ = Buffer<double>(ctx, 2);
  }
  void set_map(const PointMap& map) override { map_ = map; }
  void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                double* cost) override {
    if (force.data)
      warp_with_gradient(ctx, moving_, map_, u, warped_.view(), force);
    else
      warp_values(ctx, moving_, map_, u, warped_.view());
    const Difference d{fixed_.data, warped_.view().data, scale_};
    reduce(ctx, fixed_.extent.count(), 2, SumBodyOf{{}, d}, work_, sums_.data());
    for_each_voxel(ctx, Extent{1, 1, 1}, CostBody{sums_.data(), cost});
    if (force.data) for_each_voxel(ctx, fixed_.extent, ForceBody{d, sums_.data(), force});
  }

 private:
  struct Difference {
    const float *fixed, *warped;
    float scale;
    static constexpr float e = 0.05f;
    float at(std::size_t i) const { return scale * (warped[i] - fixed[i]); }
    static float root(float d) { return std::sqrt(d * d + e * e); }
  };
  struct SumBodyOf : SumBody {
    Difference d;
    double operator()(std::size_t i, int term) const {
      const float v = d.at(i);
      return v != v ? 0.0 : term == 0 ? double(Difference::root(v) - Difference::e) : 1.0;
    }
  };
  struct CostBody {
    const double* sums;
    double* cost;
    void operator()(int, int, int) const { *cost = sums[0] / sums[1]; }
  };
  struct ForceBody {
    Difference d;
    const double* sums;
    FieldView<float> force;
    void operator()(int x, int y, int z) const {
      const std::size_t n = force.extent.count(), i = force.extent.offset(x, y, z);
      const float v = d.at(i), factor = -d.scale * v / Difference::root(v) / float(sums[1]);
      for (int c = 0; c < 3; ++c)
        force.data[i + c * n] = v == v ? factor * force.data[i + c * n] : 0.0f;
    }
  };

  float scale_ = 1;
  VolumeView<const float> fixed_, moving_;
  PointMap map_;
  Volume<float> warped_;
  ReduceWorkspace work_;
  Buffer<double> sums_;
};

/// The mean of the squared displacements at the nodes.
class Leash : public Penalty {
 public:
  void prepare(Context& ctx, Extent lattice) override {
    work_ = ReduceWorkspace(ctx, 3 * lattice.count(), 1);
  }
  void add_force(Context& ctx, const LatticeView& lattice, float weight, FieldView<float> force,
                 double* value) override {
    const Extent n = lattice.coefficients.extent;
    const float per_node = 1 / float(n.count());
    reduce(ctx, 3 * n.count(), 1, Value{{}, lattice.coefficients.data, per_node}, work_, value);
    for_each_voxel(
        ctx, Extent{n.x, n.y, 3 * n.z},
        Force{
            lattice.coefficients.data, -2 * weight * per_node, {force.data, {n.x, n.y, 3 * n.z}}});
  }

 private:
  struct Value : SumBody {
    const float* c;
    float per_node;
    double operator()(std::size_t i, int) const { return double(per_node) * c[i] * c[i]; }
  };
  struct Force {
    const float* c;
    float factor;
    VolumeView<float> force;
    void operator()(int x, int y, int z) const {
      const std::size_t i = force.offset(x, y, z);
      force.data[i] += factor * c[i];
    }
  };
  ReduceWorkspace work_;
};

SimilarityChoice charbonnier() {
  SimilarityChoice choice;
  choice.factory = [] { return std::make_unique<Charbonnier>(); };
  return choice;
}

template <class Options>
Options with_measure() {
  Options o;
  o.similarity = charbonnier();
  o.levels = 2;
  o.iterations = {40, 12};
  return o;
}

TEST(OutsideMeasure, ItsForceIsMinusItsGradient) {
  Context ctx;
  const Phantom p = usual_phantom(false);
  const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
  const auto measure = make_similarity(charbonnier());
  measure->read_ranges(ctx, f, m);
  measure->prepare(ctx, {f, m, index_map(p.fixed, Eigen::Affine3d::Identity(), p.moving)});
  std::vector<float> planes = true_planes(p.fixed);
  DisplacementField force(ctx, p.fixed);
  const Buffer<double> cost(ctx, 1);
  const auto cost_at = [&](const std::vector<float>& u, bool with_force) {
    const DisplacementField field(ctx, p.fixed, u);
    measure->evaluate(ctx, field.view(),
                      with_force ? force.view() : FieldView<float>{nullptr, p.fixed.extent},
                      cost.data());
    return cost.to_host(ctx)[0];
  };
  cost_at(planes, true);
  const std::vector<float> analytic = force.to_host(ctx);
  const Extent n = p.fixed.extent;
  const std::size_t at = n.offset(n.x / 2 + 3, n.y / 2, n.z / 2);
  for (int c = 0; c < 3; ++c) {
    const std::size_t i = at + std::size_t(c) * n.count();
    constexpr float h = 0.02f;
    std::vector<float> ahead = planes, behind = planes;
    ahead[i] += h, behind[i] -= h;
    const double numeric = -(cost_at(ahead, false) - cost_at(behind, false)) / (2 * h);
    EXPECT_NEAR(analytic[i], numeric, 0.02 * std::abs(numeric) + 1e-9) << c;
  }
}

TEST(OutsideMeasure, EveryPipelineTakesIt) {
  Context ctx;
  const Phantom p = usual_phantom(false);
  EXPECT_LT(p.error(ctx, run(ctx, p, with_measure<FfdOptions>()).displacement), 1.0);
  EXPECT_LT(p.error(ctx, run(ctx, p, with_measure<FlowOptions>()).displacement), 1.0);
  EXPECT_LT(p.error(ctx, run(ctx, p, with_measure<FluidOptions>()).displacement), 1.2);
  EXPECT_LT(p.error(ctx, run(ctx, p, with_measure<DemonsOptions>()).displacement), 1.0);
  FlowOptions both_ways = with_measure<FlowOptions>();
  both_ways.symmetric = true;
  Context fresh;
  EXPECT_LT(p.error(fresh, run(fresh, p, both_ways).displacement), 1.2);
  EXPECT_LE(fresh.statistics().peak_bytes, predict_run(fresh, p, both_ways))
      << "its memory is predicted too";
}

TEST(OutsideMeasure, TheLinearStageTakesIt) {
  Context ctx;
  Phantom p = usual_phantom(false);
  p.moving = p.fixed;
  p.m = p.f;
  const Eigen::Vector3d shift(5, -4, 3);
  p.moving.origin += shift;
  LinearOptions o;
  o.model = LinearModel::rigid;
  o.similarity = charbonnier();
  const LinearResult r =
      register_linear(ctx, Volume<float>(ctx, p.fixed, p.f), Volume<float>(ctx, p.moving, p.m), o);
  EXPECT_LT((r.affine.translation() - shift).norm(), 0.2);
}

TEST(OutsidePenalty, HoldsTheDeformationAndIsRecorded) {
  Context ctx;
  const Phantom p = usual_phantom(false);
  const auto length = [&](auto o, double weight, const std::string& name) {
    o.levels = 1;
    o.iterations = {15};
    if (weight > 0)
      o.penalties.push_back({"leash", weight, [] { return std::make_unique<Leash>(); }});
    const RegistrationResult r = run(ctx, p, o);
    const LevelRecord& level = r.levels.back();
    EXPECT_EQ(!level.penalty_names.empty() && level.penalty_names.back() == "leash", weight > 0)
        << name;
    const IterationRecord& last = level.iterations.back();
    EXPECT_EQ(last.penalties.size(), level.penalty_names.size()) << name;
    if (weight > 0) {
      EXPECT_GT(last.penalties.back(), 0) << name;
    }
    return longest_motion(ctx, r.displacement);
  };
  EXPECT_LT(length(FfdOptions{}, 0.3, "ffd"), 0.8 * length(FfdOptions{}, 0, "ffd"));
  EXPECT_LT(length(FluidOptions{}, 1, "fluid"), 0.95 * length(FluidOptions{}, 0, "fluid"));
  EXPECT_LT(length(FlowOptions{}, 1, "flow"), 0.95 * length(FlowOptions{}, 0, "flow"));
  DemonsOptions demons;
  demons.penalties.push_back({"leash", 1, [] { return std::make_unique<Leash>(); }});
  EXPECT_THROW(run(ctx, p, demons), InvalidArgument);
  FfdOptions nothing;
  nothing.penalties.push_back({"none", 1, {}});
  EXPECT_THROW(run(ctx, p, nothing), InvalidArgument);
}

struct Fill {
  VolumeView<float> out;
  void operator()(int x, int y, int z) const { out(x, y, z) = 1; }
};

TEST(OutsideBody, RunsOnTheCpuAndIsRefusedOnAGpu) {
  for (const Device& device : available_devices()) {
    Context ctx(device);
    Volume<float> volume(ctx, plain_geometry({3, 4, 5}));
    if (device.is_cuda()) {
      EXPECT_THROW(for_each_voxel(ctx, volume.extent(), Fill{volume.view()}), InvalidArgument);
    } else {
      for_each_voxel(ctx, volume.extent(), Fill{volume.view()});
      EXPECT_EQ(volume.to_host(ctx), std::vector<float>(60, 1));
    }
  }
}

}  // namespace
}  // namespace freeflow
