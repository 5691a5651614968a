// Registrations by every model, stage and measure, and all that they find, to be compared bit by
// bit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <freeflow/registration/register_images.h>

#include "support/warped_phantom.h"

namespace freeflow::test {

using Bits = std::vector<float>;
using Pipeline = std::function<Bits(Context&, const Phantom&)>;
struct Named {
  std::string name;
  Pipeline run;
};

inline Bits bits_of(Context& ctx, const RegistrationResult& r) {
  Bits bits = r.displacement.to_host(ctx);
  if (r.inverse) {
    const Bits inverse = r.inverse->field.to_host(ctx);
    bits.insert(bits.end(), inverse.begin(), inverse.end());
  }
  for (int i = 0; i < 16; ++i) bits.push_back(float(r.affine.data()[i]));
  return bits;
}

template <class Model>
Named nonrigid(const std::string& name, Model model, std::optional<LinearModel> linear = {},
               StartKind start = StartKind::none) {
  model.levels = 2;
  model.iterations = {4, 2};
  model.with_inverse = true;
  return {name, [=](Context& ctx, const Phantom& p) {
            const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
            return bits_of(ctx, register_images(ctx, f, m, {model, linear, start}));
          }};
}

template <class Model>
Model compared_by(SimilarityKind kind) {
  Model model;
  model.similarity.kind = kind;
  return model;
}

inline Named linear(const std::string& name, LinearSearch search, SimilarityKind kind) {
  LinearOptions options;
  options.search = search;
  options.similarity.kind = kind;
  options.levels = 2;
  options.iterations = {4};
  return {name, [=](Context& ctx, const Phantom& p) {
            const Volume<float> f(ctx, p.fixed, p.f), m(ctx, p.moving, p.m);
            const LinearResult r = register_linear(ctx, f, m, options);
            Bits bits;
            for (int i = 0; i < 16; ++i) bits.push_back(float(r.affine.data()[i]));
            bits.push_back(float(r.cost_after));
            return bits;
          }};
}

/// The pipeline whose transforms a library makes, which rounds as its processor does.
inline const std::string by_fourier = "fluid by Fourier transforms";

/// Each model, stage and measure at least once.
inline std::vector<Named> pipelines() {
  FlowOptions symmetric = compared_by<FlowOptions>(SimilarityKind::ssd);
  symmetric.symmetric = true;
  symmetric.kl = 0.01;
  FluidOptions navier = compared_by<FluidOptions>(SimilarityKind::mi);
  navier.velocity = VelocityKind::navier;
  DemonsOptions thirion = compared_by<DemonsOptions>(SimilarityKind::ssd);
  thirion.kind = DemonsKind::thirion;
  FfdOptions bent = compared_by<FfdOptions>(SimilarityKind::cr);
  bent.bending = 0.01;
  return {nonrigid("the default", FfdOptions{}, LinearModel::affine, StartKind::discrete),
          nonrigid("flow", FlowOptions{}),
          nonrigid("symmetric flow", symmetric),
          nonrigid(by_fourier, navier),
          nonrigid("log demons", compared_by<DemonsOptions>(SimilarityKind::mind)),
          nonrigid("thirion's demons", thirion),
          nonrigid("ffd by cr with bending", bent),
          linear("gradient", LinearSearch::gradient, SimilarityKind::nmi),
          linear("powell", LinearSearch::powell, SimilarityKind::lncc)};
}

}  // namespace freeflow::test
