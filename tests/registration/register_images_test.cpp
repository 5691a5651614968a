// The default pipeline, prepared images, several contexts at once, and stopping, on every device.
#include <freeflow/registration/register_images.h>

#include <thread>

#include "support/devices.h"
#include "support/registrations.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

template <class Options>
Options quick() {
  Options o;
  o.levels = 2;
  o.iterations = {20, 4};
  return o;
}

/// The usual phantom, its moving image turned and carried away.
Phantom turned_phantom() {
  Phantom p = usual_phantom(false);
  p.moving.direction =
      Eigen::AngleAxisd(0.35, Eigen::Vector3d(1, 2, -1).normalized()) * p.moving.direction;
  p.moving.origin =
      Eigen::AngleAxisd(0.35, Eigen::Vector3d(1, 2, -1).normalized()) * p.moving.origin +
      Eigen::Vector3d(9, -12, 6);
  return p;
}

class Images : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(Images);

TEST_P(Images, ThePipelineIsTheLinearStageAndThenTheModel) {
  const Phantom p = turned_phantom();
  const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
  for (NonrigidModel model :
       {NonrigidModel(quick<FlowOptions>()), NonrigidModel(quick<FfdOptions>()),
        NonrigidModel(quick<FluidOptions>()), NonrigidModel(quick<DemonsOptions>())}) {
    SCOPED_TRACE(model.index());
    const RegistrationResult r = register_images(ctx, f, m, {model, LinearModel::rigid});
    ASSERT_TRUE(r.linear.has_value());
    EXPECT_FALSE(r.inverse.has_value()) << "nobody asked for it";
    LinearOptions linear;
    linear.model = LinearModel::rigid;
    linear.keep_better_start = true;
    linear.similarity = RegistrationOptions{model, {}}.levels().similarity;
    const LinearResult first = register_linear(ctx, f, m, linear);
    EXPECT_EQ(r.affine.matrix(), first.affine.matrix());
    const RegistrationResult nonrigid = std::visit(
        [&](auto o) {
          o.initial = first.affine;
          return register_images(ctx, f, m, {o, std::nullopt});
        },
        model);
    EXPECT_FALSE(nonrigid.linear.has_value());
    EXPECT_EQ(r.displacement.to_host(ctx), nonrigid.displacement.to_host(ctx));
  }
}

TEST_P(Images, PreparedImagesGiveTheSameBitsAndAreNotPreparedAgain) {
  const Phantom p = turned_phantom();
  Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
  const Volume<float> mask(ctx, p.fixed,
                           voxelwise(p.fixed.extent, [&](int x, int, int) { return x > 3; }));
  const RegistrationOptions o{quick<FlowOptions>(), LinearModel::affine};
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

TEST_P(Images, TheWholePipelineStaysWithinItsPrediction) {
  const Phantom p = turned_phantom();
  for (const bool masked : {false, true}) {
    Context fresh(GetParam());
    const Volume<float> f(fresh, p.fixed, p.f), m(fresh, p.moving, p.m);
    const Volume<float> all(fresh, p.fixed, std::vector<float>(p.f.size(), 1));
    FlowOptions flow = quick<FlowOptions>();
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
  FfdOptions ffd = quick<FfdOptions>();
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
  const NonrigidModel models[] = {quick<FlowOptions>(), quick<FfdOptions>(), quick<FluidOptions>()};
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
  FlowOptions flow = quick<FlowOptions>();
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
  ControlPointGrid lattice(ctx, g, Eigen::Vector3d::Constant(5), Eigen::Vector3d::Zero());
  lattice.interpolate(ctx, DisplacementField(ctx, g, std::vector<float>(planes.size(), 0)));
  EXPECT_NO_THROW(unfold(ctx, lattice, u, {}, now)) << "no fold, nothing to stop";
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
