// Blocks found at known offsets, on every device, transforms fitted to matches most of which are
// wrong, and whom a registration believes.
#include <freeflow/registration/linear/block_matching.h>

#include <random>

#include <freeflow/registration/linear/block_refinement.h>
#include <freeflow/registration/linear/linear.h>
#include <freeflow/registration/linear/trimmed_fit.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace freeflow {
namespace {

using namespace test;

Geometry plain(Extent n) {
  Geometry g;
  g.extent = n;
  g.spacing = {2, 1.5, 2.5};
  return g;
}

/// Smooth noise of many waves: no two places look the same.
double texture(double x, double y, double z) {
  static const std::vector<Eigen::Vector4d> waves = [] {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> frequency(-1.2, 1.2), phase(0, 6.28);
    std::vector<Eigen::Vector4d> result;
    result.reserve(24);
    for (int i = 0; i < 24; ++i)
      result.emplace_back(frequency(random), frequency(random), frequency(random), phase(random));
    return result;
  }();
  double sum = 0;
  for (const Eigen::Vector4d& w : waves) sum += std::sin(w.x() * x + w.y() * y + w.z() * z + w.w());
  return sum;
}

std::vector<float> textured(Extent n, const Eigen::Vector3d& shift, double contrast = 1) {
  return voxelwise(n, [&](int x, int y, int z) {
    return 100 + 20 * contrast * texture(x - shift.x(), y - shift.y(), z - shift.z());
  });
}

class Blocks : public OnDevice {
 protected:
  static std::vector<PointMatch> match(Context& ctx, Extent n, const std::vector<float>& fixed,
                                       const std::vector<float>& moving) {
    const Volume<float> f(ctx, plain(n), fixed), m(ctx, plain(n), moving);
    std::vector<PointMatch> all;
    BlockMatching(ctx, f, m).match(ctx, Eigen::Affine3d::Identity(), 1, all);
    return all;
  }
  std::vector<PointMatch> match(Extent n, const std::vector<float>& fixed,
                                const std::vector<float>& moving) {
    return match(ctx, n, fixed, moving);
  }
};
FREEFLOW_ON_EVERY_DEVICE(Blocks);

TEST_P(Blocks, AreFoundWhereTheyAreWhateverTheSignOfTheContrast) {
  for (const Extent n : {Extent{40, 36, 30}, Extent{61, 47, 33}})
    for (const double contrast : {1.0, -0.5})
      for (const Eigen::Vector3d& shift :
           {Eigen::Vector3d(2, -1, 0), Eigen::Vector3d(0.4, 1.3, -0.7)}) {
        const std::vector<PointMatch> matches =
            match(n, textured(n, Eigen::Vector3d::Zero()), textured(n, shift, contrast));
        ASSERT_GT(matches.size(), 500u);
        const Eigen::Vector3d expected = plain(n).index_to_world().linear() * shift;
        const Eigen::Affine3d identity = Eigen::Affine3d::Identity();
        // Single small blocks are often mistaken; the trimmed fit is not.
        const Eigen::Affine3d fitted =
            fit_trimmed(matches, LinearModel::rigid, plain(n).center(), 40, identity, 0.5);
        EXPECT_LT((fitted * plain(n).center() - plain(n).center() - expected).norm(), 0.4)
            << shift.transpose() << " contrast " << contrast;
      }
}

TEST_P(Blocks, HaveTheSameBitsAsOnTheCpu) {
  const Extent n{61, 47, 33};
  std::vector<float> fixed = textured(n, Eigen::Vector3d::Zero()),
                     moving = textured(n, {0.4, 1.3, -0.7});
  for (std::size_t i = 0; i < fixed.size(); i += 97) fixed[i] = NAN;
  for (std::size_t i = 0; i < moving.size(); i += 301) moving[i] = NAN;
  const std::vector<PointMatch> found = match(n, fixed, moving);
  Context cpu({}, 1);
  const std::vector<PointMatch> expected = match(cpu, n, fixed, moving);
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_GT(found.size(), 50u);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].fixed, expected[i].fixed);
    EXPECT_EQ(found[i].found, expected[i].found);
    EXPECT_EQ(found[i].correlation, expected[i].correlation);
  }
}

TEST_P(Blocks, AgreeWithACorrelationInDouble) {
  const Extent n{16, 16, 16};
  std::mt19937 random(3);
  std::uniform_real_distribution<float> value(0, 1000);
  std::vector<float> fixed(n.count()), moving(n.count());
  for (float& v : fixed) v = value(random);
  for (float& v : moving) v = value(random);
  const Eigen::Affine3d to_index = plain(n).world_to_index();
  const auto at = [&](const std::vector<float>& v, int x, int y, int z) {
    return double(v[(std::size_t(z) * std::size_t(n.y) + std::size_t(y)) * std::size_t(n.x) +
                    std::size_t(x)]);
  };
  const std::vector<PointMatch> matches = match(n, fixed, moving);
  ASSERT_EQ(matches.size(), 125u);
  for (const PointMatch& match : matches) {
    const Eigen::Vector3d middle = to_index * match.fixed - Eigen::Vector3d::Constant(1.5);
    const Eigen::Vector3i c = middle.array().round().cast<int>();
    double best = 0;
    for (int dz = -3; dz <= 3; ++dz)
      for (int dy = -3; dy <= 3; ++dy)
        for (int dx = -3; dx <= 3; ++dx) {
          const Eigen::Vector3i o = c + Eigen::Vector3i(dx, dy, dz);
          if (o.minCoeff() < 0 || o.maxCoeff() > 12) continue;
          double f = 0, m = 0, ff = 0, mm = 0, fm = 0;
          for (int i = 0; i < 64; ++i) {
            const int x = i % 4, y = i / 4 % 4, z = i / 16;
            const double a = at(fixed, c.x() + x, c.y() + y, c.z() + z),
                         b = at(moving, o.x() + x, o.y() + y, o.z() + z);
            f += a, m += b, ff += a * a, mm += b * b, fm += a * b;
          }
          best = std::max(best,
                          std::pow(fm - f * m / 64, 2) / ((ff - f * f / 64) * (mm - m * m / 64)));
        }
    EXPECT_NEAR(match.correlation, best, 1e-3 * best);
  }
}

TEST_P(Blocks, FlatOrThinOrEmptyImagesHaveNone) {
  const Extent n{20, 20, 20}, thin{40, 40, 3};
  std::vector<float> half = textured(n, Eigen::Vector3d::Zero());
  for (std::size_t i = 0; i < half.size() / 2; ++i) half[i] = 50;
  const auto some = match(n, half, half);
  for (const PointMatch& m : some) EXPECT_GT(m.fixed.z(), 15);
  EXPECT_GT(some.size(), 0u);
  EXPECT_EQ(
      match(thin, textured(thin, Eigen::Vector3d::Zero()), textured(thin, Eigen::Vector3d::Zero()))
          .size(),
      0u);
  std::vector<float> hidden = textured(n, Eigen::Vector3d::Zero());
  for (std::size_t i = 0; i < hidden.size(); ++i)
    if (i % 3 == 0) hidden[i] = NAN;
  EXPECT_EQ(match(n, textured(n, Eigen::Vector3d::Zero()), hidden).size(), 0u);
}

TEST_P(Blocks, ThatDoNotSettleEndInTheMeanOfManyRounds) {
  const Extent n{28, 28, 28};
  const auto refine = [&](const std::vector<float>& fixed, const std::vector<float>& moving,
                          double agreement_mm, LevelRecord& record) {
    const Volume<float> f(ctx, plain(n), fixed), m(ctx, plain(n), moving);
    std::vector<BlockChannel> channels;
    channels.push_back({{ctx, f, m}, 1});
    BlockRefinementOptions o;
    o.center = f.geometry().index_to_world() * Eigen::Vector3d(13.5, 13.5, 13.5);
    o.radius_mm = 28;
    o.agreement_mm = agreement_mm;
    Observer silent;
    return refine_by_blocks(ctx, channels, Eigen::Affine3d::Identity(), o, record, silent);
  };
  LevelRecord settles, wanders;
  const Eigen::Vector3d shift(2, -2, 2);  // voxels
  const BlockRefinement found =
      refine(textured(n, Eigen::Vector3d::Zero()), textured(n, shift), 1.5, settles);
  EXPECT_TRUE(found.settled);
  EXPECT_LE(settles.evaluations, 10);
  const Eigen::Vector3d middle = plain(n).index_to_world() * Eigen::Vector3d(13.5, 13.5, 13.5);
  const Eigen::Vector3d moved = found.world * middle - middle;
  EXPECT_LT((moved - plain(n).spacing.cwiseProduct(shift)).norm(), 0.5) << moved;
  std::mt19937 random(9);
  std::uniform_real_distribution<float> value(0, 1000);
  std::vector<float> noise[2];
  for (std::vector<float>& image : noise)
    for (std::size_t i = 0; i < n.count(); ++i) image.push_back(value(random));
  const BlockRefinement mean = refine(noise[0], noise[1], 0.1, wanders);
  EXPECT_EQ(wanders.evaluations, 40);
  EXPECT_EQ(mean.settled, mean.world.isApprox(Eigen::Affine3d::Identity()))
      << "the start, as fewer blocks agree than with it, or a mean";
  EXPECT_TRUE(mean.world.matrix().allFinite());
}

// Two people's heads: by itself a search ends with blocks, but not on slices of 8 mm.
TEST_P(Blocks, ThickSlicesAreLeftToTheMeasure) {
  const auto found = [&](double slice, LinearRefinement refinement) {
    Geometry g = plain_geometry({64, 64, int(160 / slice)}, 3);
    g.spacing.z() = slice;
    g.origin = -g.center();
    const auto person = [&](double size, double other) {
      return sample_world(ctx, g, [&](const Eigen::Vector3d& p) {
        const Eigen::Vector3d q =
            p + other * Eigen::Vector3d(std::sin(0.08 * p.y()), std::sin(0.07 * p.z()),
                                        std::sin(0.09 * p.x()));
        return test::head(q, size) + 0.2 * test::texture(0.3 * q);
      });
    };
    LinearOptions o;
    o.refinement = refinement;
    return register_linear(ctx, person(70, 0), person(73, 5), o).affine;
  };
  for (const double slice : {8.0, 4.0}) {
    const auto none = found(slice, LinearRefinement::none),
               blocks = found(slice, LinearRefinement::blocks),
               by_itself = found(slice, LinearRefinement::automatic);
    EXPECT_NE(blocks.matrix(), none.matrix()) << slice;
    EXPECT_EQ(by_itself.matrix(), (slice == 8 ? none : blocks).matrix()) << slice;
  }
}

// An organ's texture slid by 5 mm, its edge stayed. The texture's contrast turns over from place to
// place: blocks, matched by squared correlation, follow it, but the measure of the whole cannot and
// holds on to the edge.
TEST_P(Blocks, KeepsABetterStartWhenAskedWhereMeasureAndBlocksDisagree) {
  Geometry g = plain_geometry({40, 40, 36}, 2);
  g.origin = -g.center();
  const auto image = [&](double slid, bool turned) {
    return sample_world(ctx, g, [&](const Eigen::Vector3d& p) {
      const Eigen::Vector3d q = p - slid * Eigen::Vector3d::UnitZ();
      const double fine =
          test::texture(1.5 * q) + test::texture({3 * q.y(), 2.5 * q.z(), 2 * q.x()});
      const double contrast = turned ? std::sin(0.13 * p.x() + 0.4) * std::sin(0.11 * p.y()) : 1;
      return (10 + 0.3 * contrast * fine) / (1 + std::exp((-20 - p.z()) / 0.7));
    });
  };
  const auto found = [&](bool keep_better_start, bool turned) {
    LinearOptions o;
    o.model = LinearModel::rigid;
    o.search = LinearSearch::gradient;
    o.refinement = LinearRefinement::blocks;
    o.keep_better_start = keep_better_start;
    return register_linear(ctx, image(0, false), image(5, turned), o);
  };
  const LinearResult refined = found(false, true), kept = found(true, true),
                     agreed = found(true, false);
  EXPECT_NEAR(refined.parts.translation.z(), 5, 0.3);
  EXPECT_GT(refined.cost_after, refined.cost_before + 0.01);
  EXPECT_TRUE(refined.warnings.empty());
  EXPECT_FALSE(refined.start_kept);
  EXPECT_EQ(kept.affine.matrix(), Eigen::Matrix4d::Identity());
  EXPECT_EQ(kept.cost_after, kept.cost_before);
  EXPECT_TRUE(kept.start_kept);
  EXPECT_TRUE(kept.warnings.empty()) << "it was asked for";
  EXPECT_NEAR(agreed.parts.translation.z(), 5, 0.3)
      << "the blocks are followed where the measure does";
  EXPECT_TRUE(agreed.warnings.empty());
}

TEST(TrimmedFit, FindsTheTransformOfEveryModelThoughMostMatchesAreWrong) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> place(-60, 60), wrong(-6, 6);
  const Eigen::Vector3d center(5, -3, 8);
  for (const LinearModel model :
       {LinearModel::rigid, LinearModel::similarity, LinearModel::scaled, LinearModel::affine}) {
    LinearDecomposition parts;
    parts.rotation =
        Eigen::AngleAxisd(0.03, Eigen::Vector3d(1, 2, -1).normalized()).toRotationMatrix();
    parts.translation = {1.2, -0.8, 0.9};
    if (model == LinearModel::similarity) parts.scale.setConstant(1.01);
    if (int(model) >= 9) parts.scale = {1.01, 0.985, 1.02};
    if (model == LinearModel::affine) parts.skew = {0.01, -0.015, 0.008};
    const Eigen::Affine3d truth = compose(parts, center),
                          world(Eigen::Translation3d(0.3, 0.2, -0.1));
    std::vector<PointMatch> matches;
    for (int i = 0; i < 2000; ++i) {
      const Eigen::Vector3d x(place(random), place(random), place(random));
      const Eigen::Vector3d noise(wrong(random), wrong(random), wrong(random));
      matches.push_back(
          {x,
           i % 5 < 2 ? Eigen::Vector3d(world.inverse() * (truth * x)) : Eigen::Vector3d(x + noise),
           1});
    }
    const Eigen::Affine3d found = fit_trimmed(matches, model, center, 80, world, 0.3);
    EXPECT_LT((found.matrix() - truth.matrix()).cwiseAbs().maxCoeff(), 0.05) << int(model);
    EXPECT_LT((found.linear() - truth.linear()).cwiseAbs().maxCoeff(), 1e-3) << int(model);
  }
}

TEST(TrimmedFit, CountsWhatLiesEquallyFarAlikeWhateverTheOrder) {
  // Half of the matches lie a millimetre to the right, half to the left: together they ask for
  // nothing.
  std::vector<PointMatch> matches;
  for (const double shift : {1.0, -1.0})
    for (int i = 0; i < 64; ++i) {
      const int row = i / 4, slice = i / 16;
      const Eigen::Vector3d x(20 * (i % 4), 20 * (row % 4), 20 * slice);
      matches.push_back({x, x + Eigen::Vector3d(shift, 0, 0), 1});
    }
  const Eigen::Affine3d identity = Eigen::Affine3d::Identity();
  for (const LinearModel model : {LinearModel::rigid, LinearModel::affine}) {
    const Eigen::Affine3d found =
        fit_trimmed(matches, model, Eigen::Vector3d(30, 30, 30), 80, identity, 0.5);
    EXPECT_LT((found.matrix() - identity.matrix()).cwiseAbs().maxCoeff(), 1e-9) << int(model);
  }
}

TEST(TrimmedFit, TakesMatchesByTheirWeights) {
  std::vector<PointMatch> matches;  // of channels, of which one says to the right, one to the left
  for (int i = 0; i < 64; ++i) {
    const int row = i / 4, slice = i / 16;
    const Eigen::Vector3d x(20 * (i % 4), 20 * (row % 4), 20 * slice), right(1, 0, 0);
    matches.push_back({x, x + right, 1, 3});
    matches.push_back({x, x - right, 1, 1});
  }
  const Eigen::Affine3d identity = Eigen::Affine3d::Identity();
  for (const LinearModel model : {LinearModel::rigid, LinearModel::affine}) {
    const Eigen::Affine3d found = fit_trimmed(matches, model, {30, 30, 30}, 80, identity, 1);
    EXPECT_TRUE(found.isApprox(Eigen::Affine3d(Eigen::Translation3d(0.5, 0, 0)), 1e-9));
  }
}

TEST(TrimmedFit, HasTheSameBitsWithAnyNumberOfThreads) {
  std::mt19937 random(11);
  std::normal_distribution<double> noise(0, 2);
  std::vector<PointMatch> matches;
  for (int i = 0; i < 9973; ++i) {
    const int row = i / 21, slice = i / 483;
    const Eigen::Vector3d x(i % 21, row % 23, slice);
    const Eigen::Vector3d error(noise(random), noise(random), noise(random));
    matches.push_back({x, 1.02 * x + error, 1});
  }
  const Eigen::Affine3d identity = Eigen::Affine3d::Identity();
  const auto fitted = [&](int threads) {
    return fit_trimmed(matches, LinearModel::affine, Eigen::Vector3d(10, 11, 10), 12, identity, 0.3,
                       threads);
  };
  const Eigen::Matrix4d expected = fitted(1).matrix();
  EXPECT_GT((expected - identity.matrix()).norm(), 0.01);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(fitted(threads).matrix(), expected) << threads;
}

TEST(TrimmedFit, IsTheSameAtAnySize) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 2);
  const Eigen::Affine3d truth =
      Eigen::Translation3d(2, -1, 1) * Eigen::AngleAxisd(0.2, Eigen::Vector3d(1, 2, 2) / 3);
  std::vector<PointMatch> matches;
  for (int i = 0; i < 1000; ++i) {
    const int row = i / 10, slice = i / 100;
    const Eigen::Vector3d x(10 * (i % 10) - 45, 10 * (row % 10) - 45, 10 * slice - 45);
    matches.push_back(
        {x, truth * x + Eigen::Vector3d(noise(random), noise(random), noise(random)), 1});
  }
  constexpr double small = 0x1p-20;  // mm to nanometres, nearly
  std::vector<PointMatch> smaller = matches;
  for (PointMatch& match : smaller) {
    match.fixed *= small;
    match.found *= small;
  }
  const Eigen::Affine3d identity = Eigen::Affine3d::Identity();
  const Eigen::Vector3d center(3, -4, 5);
  for (const LinearModel model :
       {LinearModel::rigid, LinearModel::similarity, LinearModel::scaled, LinearModel::affine}) {
    const Eigen::Affine3d found = fit_trimmed(matches, model, center, 60, identity, 0.5);
    const Eigen::Affine3d there =
        fit_trimmed(smaller, model, small * center, small * 60, identity, 0.5);
    EXPECT_EQ(there.linear(), found.linear()) << int(model);
    EXPECT_EQ(there.translation(), small * found.translation()) << int(model);
  }
}

TEST(TrimmedFit, LeavesAloneWhatMatchesInAPlaneDoNotTell) {
  // A slab of four slices has one layer of blocks.
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.2);
  const Eigen::Affine3d turned(Eigen::AngleAxisd(0.3, Eigen::Vector3d(1, 1, 0).normalized())),
      truth = Eigen::Translation3d(1, -0.5, 0.3) * Eigen::AngleAxisd(0.02, turned.linear().col(2));
  std::vector<PointMatch> matches;
  for (int i = 0; i < 900; ++i) {
    const int row = i / 30;
    const Eigen::Vector3d x = turned * Eigen::Vector3d(3 * (i % 30) - 45, 3 * row - 45, 5);
    const Eigen::Vector3d error(noise(random), noise(random), noise(random));
    matches.push_back({x, truth * x + error, 1});
  }
  for (const LinearModel model :
       {LinearModel::rigid, LinearModel::similarity, LinearModel::scaled, LinearModel::affine}) {
    const Eigen::Affine3d found = fit_trimmed(matches, model, turned * Eigen::Vector3d(0, 0, 4), 60,
                                              Eigen::Affine3d::Identity(), 0.5);
    for (const double above : {0.0, 3.0}) {
      const Eigen::Vector3d x = turned * Eigen::Vector3d(10, 5, 5 + above);
      EXPECT_LT((found * x - truth * x).norm(), 0.1) << int(model) << " " << above;
    }
  }
}

TEST(TrimmedFit, StaysWithTooFewMatches) {
  const Eigen::Affine3d world(Eigen::Translation3d(1, 2, 3));
  EXPECT_EQ(fit_trimmed({}, LinearModel::affine, Eigen::Vector3d::Zero(), 80, world, 0.3).matrix(),
            world.matrix());
}

}  // namespace
}  // namespace freeflow
