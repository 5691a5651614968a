// Registrations of images of several channels, on every device: what each channel shows alone, all
// show together; one channel is the registration as ever.
#include <freeflow/registration/levels/prepared_image.h>

#include "support/devices.h"
#include "support/registrations.h"
#include "support/tolerances.h"

namespace freeflow {
namespace {

using namespace test;

template <class Options>
Options quick(SimilarityKind kind = SimilarityKind::automatic) {
  Options o;
  o.similarity.kind = kind;
  o.levels = 2;
  o.iterations = {40, 12};
  return o;
}

/// The usual phantom in two channels, of which one shows the half of the head towards -x, the other
/// the half towards x.
struct Halves {
  Phantom whole = usual_phantom(false);
  Volume<float> fixed[2], moving[2];

  explicit Halves(Context& ctx) {
    for (int side = 0; side < 2; ++side) {
      const auto half = [&](const Eigen::Vector3d& p) {
        return head(p, 26) / (1 + std::exp((side == 0 ? 1.0 : -1.0) * p.x()));
      };
      fixed[side] = sample_world(ctx, whole.fixed, [&](const Eigen::Vector3d& p) {
        return half(p + true_displacement(p));
      });
      moving[side] = sample_world(ctx, whole.moving, half);
    }
  }
};

double error_of_both(Context& ctx, const Halves& h, const NonrigidModel& model) {
  const RegistrationResult r =
      register_images(ctx, h.fixed, h.moving, {model, std::nullopt, StartKind::none});
  EXPECT_EQ(r.jacobian.folded_voxels, 0u);
  return h.whole.error(ctx, r.displacement);
}

double error_of_one(Context& ctx, const Halves& h, const NonrigidModel& model, int side) {
  const RegistrationResult r =
      register_images(ctx, h.fixed[side], h.moving[side], {model, std::nullopt, StartKind::none});
  return h.whole.error(ctx, r.displacement);
}

class ChannelRegistration : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(ChannelRegistration);

TEST_P(ChannelRegistration, TwoHalvesRecoverWhatNeitherDoesAlone) {
  const Halves h(ctx);
  FlowOptions symmetric = quick<FlowOptions>();
  symmetric.symmetric = true;
  for (const NonrigidModel& model :
       {NonrigidModel(quick<FlowOptions>()), NonrigidModel(symmetric),
        NonrigidModel(quick<FfdOptions>()), NonrigidModel(quick<FluidOptions>()),
        NonrigidModel(quick<DemonsOptions>(SimilarityKind::ssd))}) {
    const double both = error_of_both(ctx, h, model);
    EXPECT_LT(both, 1) << model.index();
    for (int side = 0; side < 2; ++side)
      EXPECT_GT(error_of_one(ctx, h, model, side), 1.5 * both) << model.index();
  }
}

TEST_P(ChannelRegistration, EveryMeasureTakesChannels) {
  const Halves h(ctx);
  for (const SimilarityKind kind : {SimilarityKind::lncc, SimilarityKind::ssd, SimilarityKind::nmi,
                                    SimilarityKind::mi, SimilarityKind::cr, SimilarityKind::mind}) {
    FlowOptions o = quick<FlowOptions>(kind);
    if (kind == SimilarityKind::cr) o.iterations = {40};
    EXPECT_LT(error_of_both(ctx, h, o), 1.2) << int(kind);
  }
}

TEST_P(ChannelRegistration, TwoOfTheSameGiveTheRegistrationOfOne) {
  const Phantom p = usual_phantom(false);
  const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
  const Volume<float> fixed[] = {f.lend(), f.lend()}, moving[] = {m.lend(), m.lend()};
  for (const NonrigidModel& model :
       {NonrigidModel(quick<FlowOptions>()),
        NonrigidModel(quick<FlowOptions>(SimilarityKind::lncc)), NonrigidModel(quick<FfdOptions>()),
        NonrigidModel(quick<DemonsOptions>(SimilarityKind::ssd))}) {
    // The linear stage once: it is the same before every model.
    const RegistrationOptions o{
        model, model.index() == 1 ? std::optional(LinearModel::affine) : std::nullopt};
    const RegistrationResult one = register_images(ctx, f, m, o),
                             two = register_images(ctx, fixed, moving, o);
    EXPECT_LT((one.affine.matrix() - two.affine.matrix()).cwiseAbs().maxCoeff(), 0.01);
    EXPECT_LT(distance_between(one.displacement.to_host(ctx), two.displacement.to_host(ctx)).mean,
              0.02)
        << model.index();
  }
}

TEST_P(ChannelRegistration, OneGivesTheSameBitsAsAnImage) {
  const Phantom p = usual_phantom(false);
  const Volume<float> fixed[] = {Volume<float>(ctx, p.fixed, p.f)},
                      moving[] = {Volume<float>(ctx, p.moving, p.m)};
  RegistrationOptions o{quick<FlowOptions>(), LinearModel::affine};
  const RegistrationResult image = register_images(ctx, fixed[0], moving[0], o);
  std::get<FlowOptions>(o.model).similarity.channel_weights = {0.3};
  const RegistrationResult channel = register_images(ctx, fixed, moving, o);
  EXPECT_EQ(image.affine.matrix(), channel.affine.matrix());
  EXPECT_EQ(image.displacement.to_host(ctx), channel.displacement.to_host(ctx));
}

TEST_P(ChannelRegistration, WeightsSayHowMuchEachCounts) {
  const Halves h(ctx);
  FlowOptions o = quick<FlowOptions>();
  const double alone = error_of_one(ctx, h, o, 0);
  o.similarity.channel_weights = {1, 1e-6};
  EXPECT_NEAR(error_of_both(ctx, h, o), alone, 0.2 * alone);
  o.similarity.channel_weights = {1, 1};
  const double equal = error_of_both(ctx, h, o);
  o.similarity.channel_weights = {};
  EXPECT_EQ(error_of_both(ctx, h, o), equal) << "the default";
}

TEST_P(ChannelRegistration, TheOrderChangesLittle) {
  const Halves h(ctx);
  const Volume<float> fixed[] = {h.fixed[1].lend(), h.fixed[0].lend()},
                      moving[] = {h.moving[1].lend(), h.moving[0].lend()};
  const RegistrationOptions o{quick<FlowOptions>(), std::nullopt, StartKind::none};
  EXPECT_LT(distance_between(register_images(ctx, h.fixed, h.moving, o).displacement.to_host(ctx),
                             register_images(ctx, fixed, moving, o).displacement.to_host(ctx))
                .mean,
            0.02);
}

/// Neither bits nor memory depend on how long a level takes.
NonrigidModel soon_done(auto options) {
  options.iterations = {6, 3};
  return options;
}

TEST_P(ChannelRegistration, TheSameBitsForAnyThreads) {
  for (const NonrigidModel& model :
       {soon_done(quick<FlowOptions>()), soon_done(quick<FfdOptions>()),
        soon_done(quick<DemonsOptions>(SimilarityKind::ssd))}) {
    const std::optional<LinearModel> linear =
        model.index() == 1 ? std::optional(LinearModel::affine) : std::nullopt;
    const auto bits = [&](Context& c) {
      const Halves h(c);
      return register_images(c, h.fixed, h.moving, {model, linear, StartKind::none})
          .displacement.to_host(c);
    };
    Context one({}, 1), three({}, 3);
    const std::vector<float> expected = bits(one);
    EXPECT_EQ(bits(three), expected);
    EXPECT_EQ(bits(ctx), expected);
  }
}

/// Refers to the volumes.
PreparedImage prepared(const Volume<float> (&channels)[2], const Volume<float>& mask = {}) {
  std::vector<Volume<float>> lent;
  for (const Volume<float>& v : channels) lent.push_back(v.lend());
  return PreparedImage(std::move(lent), mask.lend());
}

TEST_P(ChannelRegistration, ALinearTransformIsFoundFromBoth) {
  Halves h(ctx);
  Eigen::Affine3d truth = Eigen::Affine3d::Identity();
  truth.rotate(Eigen::AngleAxisd(0.3, Eigen::Vector3d(1, 2, -1).normalized()));
  truth.pretranslate(Eigen::Vector3d(7, -5, 4));
  for (int side = 0; side < 2; ++side)  // fixed(x) = moving(truth(x))
    h.fixed[side] = sample_world(ctx, h.whole.fixed, [&](const Eigen::Vector3d& q) {
      const Eigen::Vector3d y = truth * q;
      return head(y, 26) / (1 + std::exp((side == 0 ? 1.0 : -1.0) * y.x()));
    });
  PreparedImage fixed = prepared(h.fixed), moving = prepared(h.moving);
  for (const SimilarityKind kind : {SimilarityKind::nmi, SimilarityKind::ssd, SimilarityKind::lncc})
    for (const LinearSearch search : {LinearSearch::automatic, LinearSearch::powell}) {
      LinearOptions o;
      o.similarity.kind = kind;
      o.model = LinearModel::rigid;
      o.search = search;
      const LinearResult r = register_linear(ctx, fixed, moving, o);
      EXPECT_LT((r.affine.translation() - truth.translation()).norm(), 0.5)
          << int(kind) << ' ' << int(search);
      EXPECT_LT((r.affine.linear() - truth.linear()).norm(), 0.02)
          << int(kind) << ' ' << int(search);
    }
}

TEST_P(ChannelRegistration, ADiscreteStartLooksAtAll) {
  const Halves h(ctx);
  PreparedImage both[] = {prepared(h.fixed), prepared(h.moving)};
  const Eigen::Affine3d identity = Eigen::Affine3d::Identity();
  const auto error = [&](const DisplacementField& u) {
    return h.whole.error(ctx, resample(ctx, u, h.whole.fixed));
  };
  const double of_both = error(discrete_start(ctx, both[0], both[1], identity).displacement);
  EXPECT_LT(of_both, 2);
  for (int side = 0; side < 2; ++side)
    EXPECT_GT(error(discrete_start(ctx, h.fixed[side], h.moving[side], identity).displacement),
              1.2 * of_both)
        << side;
  const Volume<float> fixed[] = {h.fixed[0].lend(), h.fixed[0].lend()},
                      moving[] = {h.moving[0].lend(), h.moving[0].lend()};
  PreparedImage twice[] = {prepared(fixed), prepared(moving)};
  const DiscreteStart one = discrete_start(ctx, h.fixed[0], h.moving[0], identity),
                      two = discrete_start(ctx, twice[0], twice[1], identity);
  EXPECT_LT(distance_between(one.displacement.to_host(ctx), two.displacement.to_host(ctx)).mean,
            0.05);
  EXPECT_NEAR(one.record.cost_after, two.record.cost_after, 0.01 * one.record.cost_after);
  const auto bits = [&](Context& c) {
    const Halves own(c);
    PreparedImage f = prepared(own.fixed), m = prepared(own.moving);
    return discrete_start(c, f, m, identity).displacement.to_host(c);
  };
  Context three({}, 3);
  const std::vector<float> expected = bits(cpu);
  EXPECT_EQ(bits(ctx), expected);
  EXPECT_EQ(bits(three), expected);
  Context fresh(GetParam());
  const Halves own(fresh);
  RegistrationOptions o{quick<FlowOptions>(), std::nullopt, StartKind::discrete};
  register_images(fresh, own.fixed, own.moving, o);
  RegistrationInputs inputs{own.whole.fixed, own.whole.moving, false, false, {}};
  inputs.channels = 2;
  EXPECT_LE(fresh.statistics().peak_bytes, predict_bytes(fresh, inputs, o));
}

TEST_P(ChannelRegistration, ADiscreteStartWeighsThemAsTheModelDoes) {
  const Halves h(ctx);
  RegistrationOptions o{FlowOptions(), std::nullopt, StartKind::discrete};
  auto& model = std::get<FlowOptions>(o.model);
  model.levels = 1;
  model.iterations = {0};
  const auto cost = [&](const std::vector<double>& weights) {
    model.similarity.channel_weights = weights;
    return register_images(ctx, h.fixed, h.moving, o).start->cost_after;
  };
  DiscreteStartOptions search;
  search.channel_weights = {1, 1e-3};
  PreparedImage f = prepared(h.fixed), m = prepared(h.moving);
  EXPECT_EQ(cost({1, 1e-3}),
            discrete_start(ctx, f, m, Eigen::Affine3d::Identity(), search).record.cost_after);
  EXPECT_NE(cost({1, 1e-3}), cost({1, 1}));
}

TEST_P(ChannelRegistration, MemoryStaysWithinThePrediction) {
  FlowOptions symmetric = quick<FlowOptions>();
  symmetric.symmetric = true;
  for (const bool masked : {false, true})
    for (const NonrigidModel& model :
         {soon_done(quick<FlowOptions>()), soon_done(symmetric), soon_done(quick<FfdOptions>()),
          soon_done(quick<DemonsOptions>(SimilarityKind::ssd))}) {
      Context fresh(GetParam());
      const Halves h(fresh);
      const Geometry &fixed = h.whole.fixed, &moving = h.whole.moving;
      RegistrationOptions o{model, std::nullopt, StartKind::none};
      if (masked && model.index() == 0) o = {model, LinearModel::affine};  // the longest of them
      RegistrationInputs inputs{fixed, moving, masked, false, {}};
      const std::size_t one = predict_bytes(fresh, inputs, o);
      inputs.channels = 2;
      Volume<float> mask;
      if (masked) mask = Volume<float>(fresh, fixed, std::vector<float>(fixed.extent.count(), 1));
      register_images(fresh, h.fixed, h.moving, o, {masked ? &mask : nullptr, nullptr});
      const std::size_t predicted = predict_bytes(fresh, inputs, o);
      EXPECT_LE(fresh.statistics().peak_bytes, predicted) << model.index();
      EXPECT_GT(double(fresh.statistics().peak_bytes), 0.8 * double(predicted - (1 << 20)));
      EXPECT_GT(predicted, one);
    }
}

TEST_P(ChannelRegistration, WhatDoesNotBelongTogetherIsRefusedWithASentence) {
  const Halves h(ctx);
  const auto sentence = [](const auto& work) {
    try {
      work();
    } catch (const InvalidArgument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::span<const Volume<float>> fixed(h.fixed), moving(h.moving);
  EXPECT_NE(sentence([&] {
              register_images(ctx, fixed, moving.first(1));
            }).find("the fixed image has 2 channels and the moving image 1"),
            std::string::npos);
  EXPECT_NE(sentence([&] { register_images(ctx, fixed, moving.first(0)); }).find("one channel"),
            std::string::npos);
  RegistrationOptions o{quick<FlowOptions>()};
  std::get<FlowOptions>(o.model).similarity.channel_weights = {1, 2, 3};
  EXPECT_NE(sentence([&] { register_images(ctx, fixed, moving, o); }).find("3 values for 2"),
            std::string::npos);
  const Volume<float> mixed[] = {h.fixed[0].lend(), h.moving[0].lend()};
  EXPECT_NE(sentence([&] {
              register_images(ctx, mixed, moving);
            }).find("channel 2 of the fixed image lies on another grid"),
            std::string::npos);
  const Volume<float> flat(ctx, h.whole.fixed,
                           std::vector<float>(h.whole.fixed.extent.count(), 3.0f));
  const Volume<float> constant[] = {h.fixed[0].lend(), flat.lend()};
  try {
    register_images(ctx, constant, moving, {quick<FlowOptions>(), std::nullopt, StartKind::none});
    ADD_FAILURE() << "a constant channel";
  } catch (const RegistrationError& e) {
    EXPECT_NE(std::string(e.what()).find("channel 2 of the fixed image is constant"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace freeflow
