// Linear registration on phantoms with a known transform, on every device.
#include <freeflow/registration/linear/linear.h>

#include <random>

#include <freeflow/registration/linear/linear_cost.h>
#include <freeflow/similarity/ssd.h>

#include "support/devices.h"
#include "support/linear_phantom.h"
#include "support/linear_transform.h"
#include "support/phantoms.h"
#include "support/tolerances.h"

namespace freeflow {
namespace linear_test {

using namespace test;
using Phantom = LinearPhantom;

LinearResult run(Context& ctx, const Phantom& p, const LinearOptions& options,
                 const Masks& masks = {}, Observer* observer = nullptr) {
  return register_linear(ctx, Volume<float>(ctx, p.fixed, p.f), Volume<float>(ctx, p.moving, p.m),
                         options, masks, observer);
}

constexpr SimilarityKind every_kind[] = {SimilarityKind::nmi,  SimilarityKind::mi,
                                         SimilarityKind::cr,   SimilarityKind::ssd,
                                         SimilarityKind::lncc, SimilarityKind::mind};
const Eigen::Vector3d ones = Eigen::Vector3d::Ones();

class Linear : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Linear);

TEST_P(Linear, RecoversAnAffineAcrossContrasts) {
  const Phantom p(transform({12, -8, 15}, {6, -9, 4}, {1.08, 0.93, 1.03}, {0.05, -0.04, 0.03}));
  const LinearResult r = run(ctx, p, {});
  EXPECT_LT(p.error(r.affine), 0.25);
  EXPECT_GT(r.overlap_after, 0.6);
  EXPECT_LT(r.cost_after, r.cost_before);
  EXPECT_TRUE(compose(r.parts, r.center).isApprox(r.affine, 1e-12));
  for (const LevelRecord& level : r.levels) EXPECT_FALSE(level.stopped_because.empty());
}

TEST_P(Linear, SurvivesAnyRotationAndAFarStart) {
  for (const Eigen::Vector3d& angles :
       {Eigen::Vector3d(180, 0, 0), Eigen::Vector3d(90, 40, -120), Eigen::Vector3d(0, -85, 30)}) {
    const Phantom p(transform(angles, {70, -60, 40}), true, 1.3);
    LinearOptions o;
    o.model = LinearModel::rigid;
    EXPECT_LT(p.error(run(ctx, p, o).affine), 0.4) << angles.transpose();
  }
}

TEST_P(Linear, ARigidModelLeavesTheScaleOfItsStart) {
  const Phantom p(transform({5, 4, -6}, {3, 2, -4}), true, 1.3);
  LinearOptions o;
  o.model = LinearModel::rigid;
  o.initial.linear() *= 4;
  EXPECT_LT(p.error(run(ctx, p, o).affine), 0.4);
}

TEST_P(Linear, EveryModelKeepsItsForm) {
  const Phantom p(transform({5, 4, -6}, {3, 2, -4}, 1.06 * ones), true, 1.3);
  for (const LinearModel model :
       {LinearModel::rigid, LinearModel::similarity, LinearModel::scaled}) {
    LinearOptions o;
    o.model = model;
    o.search = LinearSearch::gradient;
    const LinearDecomposition parts = run(ctx, p, o).parts;
    EXPECT_LT(parts.skew.norm(), 1e-9);
    if (model != LinearModel::scaled) {
      EXPECT_NEAR(parts.scale.maxCoeff(), parts.scale.minCoeff(), 1e-9);
      EXPECT_NEAR(parts.scale.x(), model == LinearModel::rigid ? 1 : 1.06,
                  model == LinearModel::rigid ? 1e-9 : 0.01);
    }
  }
}

TEST_P(Linear, MindFindsAShift) {
  const Phantom p(transform({0, 0, 0}, {3, -4, 2}, ones), false);
  LinearOptions o;
  o.similarity.kind = SimilarityKind::mind;
  o.model = LinearModel::rigid;
  EXPECT_LT(p.error(run(ctx, p, o).affine), 0.1);
}

TEST_P(Linear, EveryMeasureGetsThereByItsGradient) {
  const Phantom p(transform({5, -4, 7}, {3, -4, 2}, {1.04, 0.97, 1.02}), false);
  for (const SimilarityKind kind : every_kind) {
    LinearOptions o;
    o.similarity.kind = kind;
    o.search = LinearSearch::gradient;
    // The channels of mind do not turn with the image: nine degrees cost a millimetre.
    const double bound = kind == SimilarityKind::mind ? 1.5 : 0.4;
    EXPECT_LT(p.error(run(ctx, p, o).affine), bound) << int(kind);
  }
}

TEST_P(Linear, EverySearchGetsThere) {
  const Phantom near(transform({5, -4, 7}, {3, -4, 2}, {1.04, 0.97, 1.02}), true, 1.3);
  const Phantom far(transform({100, -30, 60}, {30, -40, 20}, {1.04, 0.97, 1.02}), true, 1.3);
  const auto error = [&](const Phantom& p, LinearSearch search) {
    LinearOptions o;
    o.search = search;
    return p.error(run(ctx, p, o).affine);
  };
  for (const LinearSearch search :
       {LinearSearch::gradient, LinearSearch::powell, LinearSearch::hill})
    EXPECT_LT(error(near, search), 0.5) << int(search);
  EXPECT_LT(error(far, LinearSearch::automatic), 0.5);
  EXPECT_LT(error(far, LinearSearch::flirt), 0.5);
}

TEST_P(Linear, EverySearchGetsThereOnTricubicSamples) {
  const Phantom p(transform({5, -4, 7}, {3, -4, 2}), true, 1.6);
  Context one({}, 1);
  LinearOptions o;
  o.model = LinearModel::rigid;
  o.levels = 2;
  for (const LinearSearch search :
       {LinearSearch::gradient, LinearSearch::powell, LinearSearch::hill}) {
    o.search = search;
    o.similarity.sampling = Interpolation::cubic;
    const LinearResult here = run(ctx, p, o), there = run(one, p, o);
    EXPECT_LT(p.error(here.affine), 0.5) << int(search);
    EXPECT_EQ(here.affine.matrix(), there.affine.matrix()) << int(search);
    o.similarity.sampling = Interpolation::linear;
    EXPECT_NE(run(ctx, p, o).cost_before, here.cost_before);
  }
}

TEST_P(Linear, MasksLeaveVoxelsOut) {
  Phantom p(transform({6, -3, 10}, {5, -4, 3}));
  const Eigen::Affine3d fixed_world = p.fixed.index_to_world();
  const auto within = [&](const Geometry& g, const Eigen::Vector3d& middle) {
    const Eigen::Affine3d world = g.index_to_world();
    return voxelwise(g.extent, [&](int x, int y, int z) {
      return (world * Eigen::Vector3d(x, y, z) - middle).norm() < 32;
    });
  };
  const Volume<float> fixed_mask(ctx, p.fixed, within(p.fixed, Eigen::Vector3d::Zero()));
  const Volume<float> moving_mask(ctx, p.moving, within(p.moving, p.truth.translation()));
  // Something bright that the moving image lacks, outside the mask.
  p.f = voxelwise(p.fixed.extent, [&](int x, int y, int z) {
    const Eigen::Vector3d q = fixed_world * Eigen::Vector3d(x, y, z);
    return q.norm() > 36 && q.x() > 0
               ? 30.0
               : double(p.f[(std::size_t(z) * p.fixed.extent.y + y) * p.fixed.extent.x + x]);
  });
  EXPECT_LT(p.error(run(ctx, p, {}, {&fixed_mask, nullptr}).affine), 0.3);
  EXPECT_LT(p.error(run(ctx, p, {}, {&fixed_mask, &moving_mask}).affine), 0.5);
}

TEST_P(Linear, FindsAMaskedOrganByWhatSurroundsIt) {
  const Phantom p(transform({12, -20, 30}, {6, -9, 7}));
  const Eigen::Vector3d organ(8, 6, -5);
  const auto ball = [](const Geometry& g, const Eigen::Vector3d& middle, double radius) {
    const Eigen::Affine3d world = g.index_to_world();
    return voxelwise(g.extent, [&](int x, int y, int z) {
      return (world * Eigen::Vector3d(x, y, z) - middle).norm() < radius;
    });
  };
  const Volume<float> of_fixed(ctx, p.fixed, ball(p.fixed, organ, 7)),
      of_moving(ctx, p.moving, ball(p.moving, p.truth * organ, 7)),
      large(ctx, p.fixed, ball(p.fixed, Eigen::Vector3d::Zero(), 24));
  LinearOptions rigid, gradient;
  rigid.model = LinearModel::rigid;
  gradient.search = LinearSearch::gradient;
  for (const Masks& masks : {Masks{&of_fixed, nullptr}, Masks{nullptr, &of_moving}}) {
    const LinearResult r = run(ctx, p, rigid, masks);
    EXPECT_TRUE(r.whole_images_first);
    EXPECT_LT((r.affine * organ - p.truth * organ).norm(), 1) << (masks.fixed != nullptr);
    EXPECT_LT(p.error(r.affine), 2) << (masks.fixed != nullptr);
  }
  EXPECT_FALSE(run(ctx, p, {}, {&of_fixed, &of_moving}).whole_images_first);
  EXPECT_FALSE(run(ctx, p, {}, {&large, nullptr}).whole_images_first);
  EXPECT_FALSE(run(ctx, p, gradient, {&of_fixed, nullptr}).whole_images_first);
}

TEST_P(Linear, FindsAMaskedOrganThatLiesBesideItsCounterpart) {
  Phantom p(transform({4, -6, 8}, {3, -12, 6}));
  std::mt19937 engine(5);
  std::normal_distribution<float> noise;  // without it the right place matches beyond doubt
  for (auto* voxels : {&p.f, &p.m})
    for (float& v : *voxels) v += noise(engine);
  const Eigen::Vector3d organ(8, 6, -5);
  const auto ball = [](const Geometry& g, const Eigen::Vector3d& middle) {
    const Eigen::Affine3d world = g.index_to_world();
    return voxelwise(g.extent, [&](int x, int y, int z) {
      return (world * Eigen::Vector3d(x, y, z) - middle).norm() < 9;
    });
  };
  const Volume<float> of_fixed(ctx, p.fixed, ball(p.fixed, organ)),
      of_moving(ctx, p.moving, ball(p.moving, p.truth * organ));
  LinearOptions rigid;
  rigid.model = LinearModel::rigid;
  const LinearResult r = run(ctx, p, rigid, {&of_fixed, &of_moving});
  EXPECT_GT(r.overlap_before, 0);
  EXPECT_LT(r.overlap_before, 0.1) << "where any histogram looks good";
  EXPECT_FALSE(r.start_kept);
  EXPECT_LT((r.affine * organ - p.truth * organ).norm(), 2);
}

TEST_P(Linear, AlignsAPartOfTheHead) {
  Phantom p(transform({4, -6, 8}, {5, 3, -4}));
  // Only the lower half was scanned.
  p.fixed.extent.z = 13;
  p.f.resize(p.fixed.extent.count());
  LinearOptions o;
  o.model = LinearModel::rigid;
  EXPECT_LT(p.error(run(ctx, p, o).affine), 0.6);
}

TEST_P(Linear, AStretchToStartFromIsHeldWhereCoarseLevelsDoNotFreeIt) {
  const Phantom p(transform({5, -4, 7}, {3, -4, 2}, {1.5, 0.7, 1}, {0.1, 0, 0}));
  LinearOptions o;
  o.initial = p.truth;
  o.search = LinearSearch::gradient;
  o.iterations = {20, 0, 0};  // the coarsest level's parameters are those of a similarity
  EXPECT_LT(p.error(run(ctx, p, o).affine), 0.5);
}

TEST_P(Linear, AnAlignedPairStaysAligned) {
  const Phantom p(Eigen::Affine3d::Identity());
  EXPECT_LT(p.error(run(ctx, p, {}).affine), 0.15);
}

TEST_P(Linear, CoarseVoxelsDoNotTurnWhatFineOnesShowToLieRight) {
  // Large parts that match when turned by 180 degrees, and fine ones, which coarse voxels average
  // away, that match as the images lie.
  const Geometry g = centred({{64, 64, 40}, {1, 1, 1.5}});
  const auto image = [&](double sign, const Eigen::Vector3d& shift) {
    return sample_world(ctx, g, [&](const Eigen::Vector3d& at) {
      const Eigen::Vector3d p = at - shift;
      const double edge = 1 / (1 + std::exp(std::hypot(p.x(), p.y() / 1.2, p.z()) - 24));
      const double turned = sign * (std::tanh(p.x() / 6) + std::tanh(p.y() / 8));
      const double fine = std::sin(2.1 * p.x() + std::cos(0.3 * p.z())) * std::sin(2 * p.y());
      return edge * (5 + 0.5 * turned + std::cos(p.norm() / 4) + 2.5 * fine);
    });
  };
  const Eigen::Vector3d shift(1, -1, 1.5);
  const Volume<float> fixed = image(1, {0, 0, 0}), moving = image(-1, shift);
  LinearOptions o;
  o.model = LinearModel::rigid;
  const Eigen::Affine3d found = register_linear(ctx, fixed, moving, o).affine;
  const Eigen::Vector3d edge(10, 15, -5);
  EXPECT_LT((found * edge - edge - shift).norm(), 1);
}

TEST_P(Linear, FinePartsTellTurnsThatCoarseOnesDoNot) {
  // Large parts that look the same after any quarter turn.
  const Geometry g = centred({{64, 64, 40}, {1, 1, 1.5}});
  const auto image = [&](double quarter_turns) {
    const Eigen::AngleAxisd turn(quarter_turns * EIGEN_PI / 2, Eigen::Vector3d::UnitZ());
    return sample_world(ctx, g, [&](const Eigen::Vector3d& at) {
      const Eigen::Vector3d p = turn.inverse() * at;
      const double edge = 1 / (1 + std::exp(p.norm() - 22));
      const double large = std::cos(4 * std::atan2(p.y(), p.x())) + std::tanh(p.z() / 8);
      const double fine = std::sin(2.3 * p.x() + std::cos(0.3 * p.z())) * std::sin(2.5 * p.y());
      return edge * (5 + 0.3 * large + 2 * fine);
    });
  };
  const Volume<float> fixed = image(0);
  LinearOptions o;
  o.model = LinearModel::rigid;
  const Eigen::Vector3d edge(15, 10, -5);
  for (const int turns : {1, 2, 3}) {
    const Eigen::AngleAxisd truth(turns * EIGEN_PI / 2, Eigen::Vector3d::UnitZ());
    const Eigen::Affine3d found = register_linear(ctx, fixed, image(turns), o).affine;
    EXPECT_LT((found * edge - truth * edge).norm(), 1) << turns;
  }
}

TEST_P(Linear, GivesTheSameBitsEveryTimeAndOnEveryDevice) {
  const Phantom p(transform({12, -8, 15}, {6, -9, 4}, {1.08, 0.93, 1.03}), true, 1.3);
  Context one({}, 1), three({}, 3);
  const LinearResult expected = run(one, p, {});
  for (Context* c : {&ctx, &three}) {
    const LinearResult r = run(*c, p, {});
    EXPECT_EQ(r.affine.matrix(), expected.affine.matrix());
    EXPECT_EQ(r.cost_after, expected.cost_after);
  }
}

TEST_P(Linear, FailsWithTheFractionWhenTheOverlapIsTooSmall) {
  const Phantom p(Eigen::Affine3d::Identity(), true, 2);
  LinearOptions o;
  o.search = LinearSearch::gradient;
  o.initial.translation().x() = 1000;
  try {
    run(ctx, p, o);
    FAIL() << "registered images that do not overlap";
  } catch (const RegistrationError& e) {
    EXPECT_NE(std::string(e.what()).find("0.0 %"), std::string::npos) << e.what();
  }
  o.search = LinearSearch::automatic;
  EXPECT_LT(p.error(run(ctx, p, o).affine), 1.0);
}

TEST_P(Linear, SaysWhyItCannot) {
  Phantom p(Eigen::Affine3d::Identity(), true, 2);
  LinearOptions o;
  o.initial.linear()(0, 0) = -1;
  EXPECT_THROW(run(ctx, p, o), InvalidArgument);
  o = {};
  o.iterations = {1, 2};
  EXPECT_THROW(run(ctx, p, o), InvalidArgument);
  o = {};
  o.levels = 0;
  EXPECT_THROW(run(ctx, p, o), InvalidArgument);
  std::fill(p.m.begin(), p.m.end(), 3.0f);
  EXPECT_THROW(run(ctx, p, {}), RegistrationError);
  std::fill(p.m.begin(), p.m.end(), NAN);
  EXPECT_THROW(run(ctx, p, {}), RegistrationError);
}

TEST_P(Linear, StopsWhenAsked) {
  struct Impatient : Observer {
    bool stop_requested() override { return true; }
  } observer;
  EXPECT_THROW(run(ctx, Phantom(Eigen::Affine3d::Identity(), true, 2), {}, {}, &observer),
               Cancelled);
}

TEST_P(Linear, TheGradientIsThatOfTheCost) {
  Phantom p(transform({5, -4, 7}, {3, -4, 2}));
  // A ball that stays inside the moving image: at its border a cost of the overlap jumps, which no
  // gradient tells.
  const Eigen::Affine3d world = p.fixed.index_to_world();
  p.f = voxelwise(p.fixed.extent, [&](int x, int y, int z) {
    const bool inside = (world * Eigen::Vector3d(x, y, z)).norm() < 26;
    return inside ? p.f[(std::size_t(z) * p.fixed.extent.y + y) * p.fixed.extent.x + x] : NAN;
  });
  const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
  std::vector<SimilarityChoice> choices;
  for (const SimilarityKind kind : every_kind) choices.push_back({kind, 32});
  choices.push_back({SimilarityKind::nmi, 32});
  choices.back().sampling = Interpolation::cubic;
  for (const SimilarityChoice& options : choices) {
    const auto measure = make_similarity(options);
    measure->read_ranges(ctx, f, m);
    measure->prepare(ctx,
                     {f, m, index_map(f.geometry(), Eigen::Affine3d::Identity(), m.geometry())});
    LinearCost cost(ctx, *measure, f, m);
    OverlapGuard guard(ctx, f, m);
    Eigen::Affine3d start = Eigen::Affine3d::Identity();
    start.translation() = p.truth.translation() + Eigen::Vector3d(0.7, -0.6, 0.4);
    const LinearParameters parameters(LinearModel::affine, {1, 2, 3}, 25, start);
    const SmoothCost smooth =
        cost.of(parameters, guard, guard.smallest(), Eigen::Affine3d::Identity());
    const Eigen::VectorXd& q = parameters.start();
    Eigen::VectorXd gradient, none;
    smooth(q, &gradient);
    for (int i = 0; i < parameters.count(); ++i) {
      // Steps that average over the kinks of trilinear interpolation.
      const double h = 0.05;
      Eigen::VectorXd ahead = q, behind = q;
      ahead[i] += h;
      behind[i] -= h;
      EXPECT_NEAR((smooth(ahead, nullptr) - smooth(behind, nullptr)) / (2 * h), gradient[i],
                  0.03 * gradient.cwiseAbs().maxCoeff())
          << i;
    }
  }
}

TEST_P(Linear, GaussNewtonCurvatureIsThatOfASmallChange) {
  const Phantom p(Eigen::Affine3d::Identity(), false);
  const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.fixed, p.f);
  const LinearParameters parameters(LinearModel::affine, {1, 2, 3}, 25,
                                    Eigen::Affine3d::Identity());
  // At a small distance from the same image the cost is half of step^T H step.
  Ssd ssd;
  ssd.read_ranges(ctx, f, m);
  ssd.prepare(ctx, {f, m, index_map(f.geometry(), Eigen::Affine3d::Identity(), m.geometry())});
  LinearCost cost(ctx, ssd, f, m);
  const OverlapGuard guard(ctx, f, m);
  const SmoothCost smooth =
      cost.of(parameters, guard, guard.smallest(), Eigen::Affine3d::Identity());
  for (int i = 0; i < parameters.count(); ++i) {
    Eigen::VectorXd q = parameters.start();
    q[i] += 0.3;
    const double value = smooth(q, nullptr);
    const Eigen::MatrixXd h = cost.ssd_curvature_of(parameters)(q, value);
    EXPECT_NEAR(0.5 * 0.3 * 0.3 * h(i, i), value, 0.2 * value) << i;
    EXPECT_TRUE(h.isApprox(h.transpose(), 1e-9));
  }
}

}  // namespace linear_test
}  // namespace freeflow
