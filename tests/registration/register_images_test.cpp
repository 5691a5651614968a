// The default pipeline, prepared images, several contexts at once, and stopping, on every device.
#include <freeflow/registration/register_images.h>

#include <thread>

#include <freeflow/registration/levels/inverse.h>

#include "support/devices.h"
#include "support/registrations.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

class Images : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Images);

TEST_P(Images, ThePipelineIsTheLinearStageAndThenTheModel) {
  const Phantom p = turned_phantom();
  const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
  for (NonrigidModel model :
       {NonrigidModel(two_levels<FlowOptions>()), NonrigidModel(two_levels<FfdOptions>()),
        NonrigidModel(two_levels<FluidOptions>()), NonrigidModel(two_levels<DemonsOptions>())}) {
    SCOPED_TRACE(model.index());
    const RegistrationResult r = register_images(ctx, f, m, {model, LinearModel::rigid});
    ASSERT_TRUE(r.linear.has_value());
    EXPECT_FALSE(r.inverse.has_value()) << "nobody asked for it";
    LinearOptions linear;
    linear.model = LinearModel::rigid;
    linear.keep_better_start = true;
    linear.similarity = linear_choice(RegistrationOptions{model, {}}.levels().similarity);
    const LinearResult first = register_linear(ctx, f, m, linear);
    EXPECT_EQ(r.affine.matrix(), first.affine.matrix());
    const RegistrationResult nonrigid = std::visit(
        [&](auto o) {
          o.initial = first.affine;
          return register_images(ctx, f, m, {o, std::nullopt});
        },
        model);
    EXPECT_FALSE(nonrigid.linear.has_value());
    EXPECT_EQ(r.overlap_before, first.overlap_before) << "before the first stage";
    EXPECT_NEAR(nonrigid.overlap_before, first.overlap_after, 0.05) << "which stands for itself";
    EXPECT_EQ(r.displacement.to_host(ctx), nonrigid.displacement.to_host(ctx));
  }
}

TEST_P(Images, AnImageStoredInAnotherOrderIsInMemoryOnce) {
  Geometry turned = plain_geometry({24, 20, 16});
  turned.direction.col(0) *= -1;  // towards the left; a canonical grid runs to the right
  turned.direction.col(1) *= -1;
  for (const bool flip : {false, true}) {
    if (flip) turned.direction.col(2) *= -1;
    std::vector<float> voxels(turned.extent.count());
    for (std::size_t i = 0; i < voxels.size(); ++i) voxels[i] = float(i % 97);
    const std::size_t before = ctx.statistics().bytes_in_use;
    PreparedImage image(Volume<float>(ctx, turned, voxels));
    EXPECT_EQ(image.order().as_stored(), !flip);
    image.level(ctx, {});
    EXPECT_EQ(ctx.statistics().bytes_in_use - before, voxels.size() * sizeof(float));
    const Volume<float> came = image.as_it_came(ctx);
    image.release();
    EXPECT_EQ(came.to_host(ctx), voxels);
    EXPECT_EQ(came.geometry().direction, turned.direction);
  }
}

TEST_P(Images, PreparedImagesGiveTheSameBitsAndAreNotPreparedAgain) {
  const Phantom p = turned_phantom();
  Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
  const Volume<float> mask(ctx, p.fixed,
                           voxelwise(p.fixed.extent, [&](int x, int, int) { return x > 3; }));
  const RegistrationOptions o{two_levels<FlowOptions>(), LinearModel::affine};
  const std::vector<float> expected =
      register_images(ctx, f, m, o, {&mask, nullptr}).displacement.to_host(ctx);
  PreparedImage fixed(f.lend(), mask.lend()), moving(std::move(m));
  const auto waits_and_bits = [&] {
    const std::size_t before = ctx.statistics().synchronizations;
    const RegistrationResult r = register_images(ctx, fixed, moving, o);
    const std::size_t waits = ctx.statistics().synchronizations - before;
    return std::pair{waits, r.displacement.to_host(ctx)};
  };
  const auto [first_waits, first] = waits_and_bits();
  const auto [second_waits, second] = waits_and_bits();
  EXPECT_EQ(first, expected);
  EXPECT_EQ(second, expected);
  EXPECT_LT(second_waits, first_waits) << "ranges are known the second time";
  EXPECT_EQ(&fixed.level(ctx, {}), &fixed.level(ctx, {{1, 1, 1}})) << "one level, kept";
  EXPECT_THROW(PreparedImage(f.lend(), Volume<float>(ctx, p.moving)), InvalidArgument)
      << "a mask on another grid";
}

/// The same voxels, stored from the other end of x and z, with y and z exchanged.
Geometry stored_otherwise(const Geometry& g, const std::vector<float>& in,
                          std::vector<float>& out) {
  Geometry o = g;
  o.extent = {g.extent.x, g.extent.z, g.extent.y};
  o.spacing = {g.spacing.x(), g.spacing.z(), g.spacing.y()};
  o.direction.col(0) = -g.direction.col(0);
  o.direction.col(1) = -g.direction.col(2);
  o.direction.col(2) = g.direction.col(1);
  o.origin = g.index_to_world() * Eigen::Vector3d(g.extent.x - 1, 0, g.extent.z - 1);
  out = voxelwise(o.extent, [&](int x, int y, int z) {
    return in[g.extent.offset(g.extent.x - 1 - x, z, g.extent.z - 1 - y)];
  });
  return o;
}

/// How far two affines take a corner of the grid apart, voxels.
double corners_apart(const Geometry& g, const Eigen::Affine3d& a, const Eigen::Affine3d& b) {
  const Extent n = g.extent;
  double most = 0;
  for (int i = 0; i < 8; ++i) {
    const Eigen::Vector3d corner(i & 1 ? n.x - 1 : 0, i & 2 ? n.y - 1 : 0, i & 4 ? n.z - 1 : 0);
    const Eigen::Vector3d world = g.index_to_world() * corner;
    most = std::max(most, (a * world - b * world).norm() / g.spacing.minCoeff());
  }
  return most;
}

/// Where two costs differ by rounding alone, rounding decides which way a search goes and how often
/// it steps before it ends: an ulp of the angle does so, too.
constexpr double at_most_by_rounding = 0.05;  // voxels

TEST_P(Images, ImagesStoredOtherwiseGiveTheSameAffine) {
  LinearOptions o;
  o.model = LinearModel::rigid;
  std::vector<double> apart;
  for (const double angle : {0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5}) {
    const Phantom p = turned_phantom(angle);
    std::vector<float> f, m;
    const Geometry fixed = stored_otherwise(p.fixed, p.f, f),
                   moving = stored_otherwise(p.moving, p.m, m);
    const LinearResult plain = register_linear(ctx, Volume<float>(ctx, p.fixed, p.f),
                                               Volume<float>(ctx, p.moving, p.m), o),
                       other = register_linear(ctx, Volume<float>(ctx, fixed, f),
                                               Volume<float>(ctx, moving, m), o);
    apart.push_back(corners_apart(p.fixed, plain.affine, other.affine));
  }
  std::ranges::sort(apart);
  EXPECT_LT(apart[apart.size() / 2], 1e-5);
  EXPECT_LT(apart.back(), at_most_by_rounding);
}

TEST_P(Images, ImagesStoredOtherwiseGiveTheSameDeformation) {
  const Phantom p = turned_phantom();
  std::vector<float> f, m;
  const Geometry fixed = stored_otherwise(p.fixed, p.f, f),
                 moving = stored_otherwise(p.moving, p.m, m);
  for (const RegistrationOptions& o :
       {RegistrationOptions{two_levels<FlowOptions>(), LinearModel::rigid},
        RegistrationOptions{two_levels<FfdOptions>(), LinearModel::rigid}}) {
    const RegistrationResult plain = register_images(ctx, Volume<float>(ctx, p.fixed, p.f),
                                                     Volume<float>(ctx, p.moving, p.m), o),
                             other = register_images(ctx, Volume<float>(ctx, fixed, f),
                                                     Volume<float>(ctx, moving, m), o);
    ASSERT_EQ(other.displacement.extent(), fixed.extent);
    EXPECT_LT(corners_apart(p.fixed, plain.affine, other.affine), 0.01);
    const std::vector<float> u = plain.displacement.to_host(ctx),
                             v = other.displacement.to_host(ctx);
    const std::size_t n = u.size() / 3;
    double most = 0, sum = 0;
    for (int z = 0; z < fixed.extent.z; ++z)
      for (int y = 0; y < fixed.extent.y; ++y)
        for (int x = 0; x < fixed.extent.x; ++x) {
          const std::size_t i = fixed.extent.offset(x, y, z),
                            j = p.fixed.extent.offset(fixed.extent.x - 1 - x, z,
                                                      fixed.extent.y - 1 - y);
          const double apart =
              std::max({std::abs(double(v[i]) + u[j]), std::abs(double(v[i + n]) + u[j + 2 * n]),
                        std::abs(double(v[i + 2 * n]) - u[j + n])});
          most = std::max(most, apart);
          sum += apart / double(n);
        }
    // Voxels. The voxels are the same bits; where the grids lie is rounded otherwise.
    EXPECT_LT(sum, 0.02);
    EXPECT_LT(most, 0.3);
  }
}

/// How far apart two fields lie, voxels: on average and at most.
FieldDistance apart(Context& ctx, const RegistrationResult& a, const RegistrationResult& b) {
  const std::vector<float> u = a.displacement.to_host(ctx), v = b.displacement.to_host(ctx);
  FieldDistance d;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double one = std::abs(double(u[i]) - v[i]);
    d.mean += one / double(u.size());
    d.max = std::max(d.max, one);
  }
  return d;
}

TEST_P(Images, TheUnitsOfSpaceAndIntensitiesDoNotMatter) {
  const Phantom p = turned_phantom();
  const auto scaled = [](Geometry g, double by) {
    g.spacing *= by;
    g.origin *= by;
    return g;
  };
  const auto of = [](const std::vector<float>& v, double by, double plus) {
    std::vector<float> out(v.size());
    std::ranges::transform(v, out.begin(), [&](float x) { return float(by * x + plus); });
    return out;
  };
  for (const RegistrationOptions& o : {RegistrationOptions{two_levels<FlowOptions>()},
                                       RegistrationOptions{two_levels<FfdOptions>()}}) {
    const auto result = [&](double space, double by, double plus) {
      return register_images(ctx, Volume<float>(ctx, scaled(p.fixed, space), of(p.f, by, plus)),
                             Volume<float>(ctx, scaled(p.moving, space), of(p.m, by, plus)), o);
    };
    const RegistrationResult plain = result(1, 1, 0);
    const auto expect_near = [&](const RegistrationResult& other) {
      const FieldDistance d = apart(ctx, plain, other);
      EXPECT_LT(d.mean, 0.02);
      EXPECT_LT(d.max, 0.5);
    };
    const bool flow = o.model.index() == 0;
    EXPECT_EQ(apart(ctx, plain, result(flow ? 8 : 0.125, flow ? 1024 : 1, 0)).max, 0)
        << "powers of two: the same bits";
    expect_near(result(flow ? 10 : 0.1, 1, 0));
    expect_near(result(1, flow ? 1e-6 : 1e6, 0));
    if (flow) expect_near(result(1, 1, 1e4));
  }
}

template <class Options>
Options symmetric(Options o) {
  o.symmetric = true;
  return o;
}

TEST_P(Images, AnInverseThatIsAddedLaterHasTheSameBits) {
  const Phantom p = usual_phantom(false);
  std::vector<float> turned;
  const Geometry otherwise = stored_otherwise(p.fixed, p.f, turned);
  const Volume<float> f(ctx, p.fixed, p.f), same(ctx, otherwise, turned), m(ctx, p.moving, p.m);
  FlowOptions flow = two_levels<FlowOptions>();
  flow.levels = 1;
  flow.iterations = {3};
  DemonsOptions demons = two_levels<DemonsOptions>();
  demons.levels = 1;
  demons.iterations = {3};
  for (const NonrigidModel& model :
       {NonrigidModel(flow), NonrigidModel(symmetric(flow)), NonrigidModel(demons),
        NonrigidModel(symmetric(demons)), NonrigidModel(two_levels<FfdOptions>())})
    for (const Volume<float>* fixed : {&f, &same}) {
      SCOPED_TRACE(model.index());
      RegistrationOptions o{model, std::nullopt, StartKind::none};
      RegistrationResult later = register_images(ctx, *fixed, m, o);
      const bool is_symmetric = std::visit(
          [](auto& options) {
            options.with_inverse = true;
            if constexpr (requires { options.symmetric; })
              return options.symmetric;
            else
              return false;
          },
          o.model);
      const RegistrationResult whole = register_images(ctx, *fixed, m, o);
      ASSERT_FALSE(later.inverse.has_value());
      const std::vector<float> there = later.displacement.to_host(ctx);
      add_inverse(ctx, later, is_symmetric);
      EXPECT_EQ(later.inverse->field.to_host(ctx), whole.inverse->field.to_host(ctx));
      EXPECT_EQ(later.inverse->field.extent(), fixed->extent());
      EXPECT_EQ(later.inverse->residual.mean_voxels, whole.inverse->residual.mean_voxels);
      EXPECT_EQ(later.inverse->residual.max_voxels, whole.inverse->residual.max_voxels);
      EXPECT_EQ(later.inverse_unfolding.voxels_before, whole.inverse_unfolding.voxels_before);
      EXPECT_EQ(later.displacement.to_host(ctx), there);
      EXPECT_GT(later.inverse_seconds, 0);
    }
  RegistrationResult nothing;
  EXPECT_THROW(add_inverse(ctx, nothing, false), InvalidArgument);
  nothing.displacement = DisplacementField(ctx, p.fixed);
  EXPECT_THROW(add_inverse(ctx, nothing, true), InvalidArgument) << "no velocity";
}

/// Small images leave levels out, which is no change of what one measure compares by.
TEST_P(Images, ASmallImageIsRegisteredByTheMeasureThatWasAskedFor) {
  const Phantom p = turned_phantom();
  const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
  DemonsOptions demons;
  demons.similarity.kind = SimilarityKind::ssd;
  ASSERT_GT(first_trusted_level(p.fixed, demons.levels), 0);
  RegistrationOptions o{demons, std::nullopt};
  o.start = StartKind::none;
  for (const float u : register_images(ctx, f, f, o).displacement.to_host(ctx))
    ASSERT_NEAR(u, 0, 1e-4) << "voxels, of an image and itself: an update of demons is 0 there";
  FfdOptions ffd;
  ffd.iterations = {2};
  ffd.similarity.kind = SimilarityKind::nmi;
  ffd.similarity.sampling = Interpolation::cubic;
  o.model = ffd;
  EXPECT_NO_THROW(register_images(ctx, f, m, o));
}

TEST_P(Images, TheWholePipelineStaysWithinItsPrediction) {
  const Phantom p = turned_phantom();
  for (const bool masked : {false, true}) {
    Context fresh(GetParam());
    const Volume<float> f(fresh, p.fixed, p.f), m(fresh, p.moving, p.m);
    const Volume<float> all(fresh, p.fixed, std::vector<float>(p.f.size(), 1));
    FlowOptions flow = two_levels<FlowOptions>();
    flow.with_inverse = true;
    const RegistrationOptions o{flow, LinearModel::affine};
    register_images(fresh, f, m, o, {masked ? &all : nullptr, nullptr});
    const double used = double(fresh.statistics().peak_bytes) -
                        (masked ? 0.0 : 4.0 * double(p.f.size()));  // the mask that is not used
    const double predicted =
        double(predict_bytes(fresh, {p.fixed, p.moving, masked, false, {}}, o));
    EXPECT_LE(used, predicted);
    EXPECT_GT(used, 0.8 * (predicted - double(1 << 20)));
  }
}

TEST_P(Images, ALinearRunStaysWithinItsPrediction) {
  const Phantom p = turned_phantom();
  for (const SimilarityKind kind : {SimilarityKind::nmi, SimilarityKind::cr, SimilarityKind::ssd,
                                    SimilarityKind::lncc, SimilarityKind::mind})
    for (const LinearSearch search : {LinearSearch::automatic, LinearSearch::powell}) {
      Context fresh(GetParam());
      LinearOptions o;
      o.similarity.kind = kind;
      o.search = search;
      o.iterations = {1};  // the next one takes no more
      register_linear(fresh, Volume<float>(fresh, p.fixed, p.f),
                      Volume<float>(fresh, p.moving, p.m), o);
      EXPECT_LE(fresh.statistics().peak_bytes,
                predict_bytes(fresh, {p.fixed, p.moving, false, false, {}}, o))
          << int(kind);
    }
}

TEST_P(Images, ImagesOfAnotherDeviceAreRefused) {
  const Phantom p = usual_phantom(false);
  Context other = ctx.rehearsal();
  for (const Device& d : available_devices())
    if (!(d == GetParam())) other = Context(d);
  const Volume<float> here(ctx, p.fixed, p.f), there(other, p.fixed, p.f);
  EXPECT_THROW(register_images(ctx, here, there), InvalidArgument);
  EXPECT_THROW(register_images(ctx, there, here), InvalidArgument);
  EXPECT_THROW(register_images(ctx, here, here, {}, {&there, nullptr}), InvalidArgument);
  EXPECT_THROW(register_linear(ctx, here, there), InvalidArgument);
  const DisplacementField u(other, p.fixed);
  FfdOptions ffd = two_levels<FfdOptions>();
  ffd.initial_displacement = &u;
  EXPECT_THROW(register_ffd(ctx, here, here, ffd), InvalidArgument);
  EXPECT_THROW(
      warp(ctx, there, p.fixed, Eigen::Affine3d::Identity(), nullptr, Interpolation::linear, 0),
      InvalidArgument);
  EXPECT_THROW(warp(ctx, here, p.fixed, Eigen::Affine3d::Identity(), &u, Interpolation::linear, 0),
               InvalidArgument);
  EXPECT_THROW(invert(ctx, u), InvalidArgument);
  EXPECT_THROW(compose(ctx, u, u), InvalidArgument);
  EXPECT_THROW(jacobian_statistics(ctx, u), InvalidArgument);
}

TEST_P(Images, SeveralContextsOnSeveralThreadsGiveWhatOneGives) {
  const Phantom p = usual_phantom(false);
  const auto registered = [&](NonrigidModel model) {
    Context own(GetParam(), 1);
    const Volume<float> f(own, p.fixed, p.f), m(own, p.moving, p.m);
    return register_images(own, f, m, {std::move(model), std::nullopt}).displacement.to_host(own);
  };
  const NonrigidModel models[] = {two_levels<FlowOptions>(), two_levels<FfdOptions>(),
                                  two_levels<FluidOptions>()};
  std::vector<std::vector<float>> expected, found(std::size(models));
  for (const NonrigidModel& model : models) expected.push_back(registered(model));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < std::size(models); ++i)
    threads.emplace_back([&, i] { found[i] = registered(models[i]); });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < std::size(models); ++i) EXPECT_EQ(found[i], expected[i]) << i;
}

/// Asks to stop once a stage has begun.
struct StopAt : Observer {
  explicit StopAt(Stage s) : last(s) {}
  void on_stage(Stage s) override { reached |= s == last; }
  bool stop_requested() override { return reached; }
  Stage last;
  bool reached = false;
};

TEST_P(Images, StopsInEveryStage) {
  const Phantom p = usual_phantom(false);
  const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
  FlowOptions flow = two_levels<FlowOptions>();
  flow.with_inverse = true;
  for (const Stage stage : {Stage::linear, Stage::start, Stage::nonrigid, Stage::inverse}) {
    StopAt observer(stage);
    EXPECT_THROW(register_images(ctx, f, m, {flow, LinearModel::affine}, {}, &observer), Cancelled)
        << int(stage);
  }
}

TEST_P(Images, UnfoldingAndInvertingStopWhenAsked) {
  const Geometry g = plain_geometry({40, 24, 24});
  std::vector<float> planes(3 * g.extent.count(), 0.0f);
  const std::size_t fold = (std::size_t(12) * 24 + 12) * 40 + 8;
  planes[fold] = 4, planes[fold + 1] = -4;
  DisplacementField u(ctx, g, planes);
  const StopRequest now = [] { return true; };
  EXPECT_THROW(unfold(ctx, u, {}, now), Cancelled);
  EXPECT_THROW(invert(ctx, u, {}, now), Cancelled);
  DisplacementField still(ctx, g, std::vector<float>(planes.size(), 0));
  EXPECT_NO_THROW(unfold(ctx, still, {}, now)) << "no fold, nothing to stop";
}

TEST_P(Images, SentencesNameTheField) {
  const Phantom p = usual_phantom(false);
  const Volume<float> f(ctx, p.fixed, p.f);
  const auto sentence = [&](NonrigidModel model) {
    try {
      register_images(ctx, f, f, {std::move(model), std::nullopt});
    } catch (const InvalidArgument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  FfdOptions ffd;
  ffd.bending = -1;
  EXPECT_EQ(sentence(ffd).rfind("FfdOptions::bending ", 0), 0u);
  FlowOptions flow;
  flow.step = 3;
  EXPECT_EQ(sentence(flow).rfind("FlowOptions::step ", 0), 0u);
  FluidOptions fluid;
  fluid.levels = 0;
  EXPECT_EQ(sentence(fluid).rfind("FluidOptions::levels ", 0), 0u);
  DemonsOptions demons;
  demons.sigma_field = {{-1}};
  EXPECT_EQ(sentence(demons).rfind("DemonsOptions::sigma_field ", 0), 0u);
}

}  // namespace
}  // namespace freeflow
