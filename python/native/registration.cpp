#include <freeflow/python/native/registration.h>

#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <freeflow/core/error.h>
#include <freeflow/python/native/errors.h>
#include <freeflow/python/native/observer.h>
#include <freeflow/python/native/options.h>
#include <freeflow/python/native/report.h>
#include <freeflow/python/native/transform.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

/// What is registered. Channels and masks are lent: the caller holds them.
struct Images {
  std::vector<Volume<float>> fixed, moving;
  Volume<float> fixed_mask, moving_mask;
  MemoryAxes axes = {0, 1, 2};  ///< of the fixed image

  Masks masks() const {
    return {fixed_mask.empty() ? nullptr : &fixed_mask,
            moving_mask.empty() ? nullptr : &moving_mask};
  }
};

std::vector<Volume<float>> lent(const nb::list& channels) {
  std::vector<Volume<float>> out;
  for (nb::handle channel : channels)
    out.push_back(nb::cast<const PyVolume<float>&>(channel).voxels.lend());
  return out;
}

Volume<float> lent_or_none(nb::handle mask) {
  return mask.is_none() ? Volume<float>() : nb::cast<const PyVolume<float>&>(mask).voxels.lend();
}

Images images_of(const nb::list& fixed, const nb::list& moving, nb::handle fixed_mask,
                 nb::handle moving_mask) {
  Images images{lent(fixed), lent(moving), lent_or_none(fixed_mask), lent_or_none(moving_mask)};
  require(!images.fixed.empty(), "fixed has no channels");
  const nb::object first = fixed[0];
  images.axes = nb::cast<const PyVolume<float>&>(first).axes;
  return images;
}

LevelOptions& levels_of(NonrigidModel& model) {
  return std::visit([](auto& o) -> LevelOptions& { return o; }, model);
}

/// x -> affine(x + u(x)), and the way back: y -> w + v(w), w = affine^-1(y).
PyTransform forward(const SharedContext& context, RegistrationResult& r, const MemoryAxes& axes) {
  return {context, Transform(std::move(r.displacement), r.affine), {axes}};
}
PyTransform back(const SharedContext& context, RegistrationResult& r, const MemoryAxes& axes) {
  Transform chain(r.affine.inverse());
  chain.then(std::move(r.inverse->field));
  return {context, std::move(chain), {axes}};
}

/// (transform, inverse, report)
nb::tuple register_nonrigid(const SharedContext& context, const nb::list& fixed,
                            const nb::list& moving, nb::handle fixed_mask, nb::handle moving_mask,
                            const std::string& model, const nb::dict& options, const Matrix& affine,
                            nb::handle displacement, const nb::object& progress) {
  const Images images = images_of(fixed, moving, fixed_mask, moving_mask);
  RegistrationOptions o = registration_options(model, options);
  LevelOptions& levels = levels_of(o.model);
  levels.initial = affine_of(affine, "init");
  levels.with_inverse = true;
  if (!displacement.is_none())
    levels.initial_displacement = nb::cast<const PyField&>(displacement).field.get();
  RegistrationResult result = observed(progress, [&](PyObserver& watch) {
    return on(*context, [&](Context& ctx) {
      return register_images(ctx, images.fixed, images.moving, o, images.masks(), &watch);
    });
  });
  const nb::dict report = report_of(result);
  return nb::make_tuple(forward(context, result, images.axes), back(context, result, images.axes),
                        report);
}

/// (transform, inverse, report)
nb::tuple register_affinely(const SharedContext& context, const nb::list& fixed,
                            const nb::list& moving, nb::handle fixed_mask, nb::handle moving_mask,
                            const std::string& model, const nb::dict& options, const Matrix& affine,
                            const nb::object& progress) {
  const Images images = images_of(fixed, moving, fixed_mask, moving_mask);
  LinearOptions o = linear_options(model, options);
  o.initial = affine_of(affine, "init");
  const LinearResult result = observed(progress, [&](PyObserver& watch) {
    return on(*context, [&](Context& ctx) {
      return register_linear(ctx, images.fixed, images.moving, o, images.masks(), &watch);
    });
  });
  return nb::make_tuple(
      PyTransform{context, Transform(result.affine), {}},
      PyTransform{context, Transform(Eigen::Affine3d(result.affine.inverse())), {}},
      report_of(result));
}

}  // namespace

void bind_registration(nb::module_& m) {
  m.def("register_nonrigid", &register_nonrigid, nb::arg("context"), nb::arg("fixed"),
        nb::arg("moving"), nb::arg("fixed_mask").none(), nb::arg("moving_mask").none(),
        nb::arg("model"), nb::arg("options"), nb::arg("affine_lps"), nb::arg("displacement").none(),
        nb::arg("progress").none());
  m.def("register_linear", &register_affinely, nb::arg("context"), nb::arg("fixed"),
        nb::arg("moving"), nb::arg("fixed_mask").none(), nb::arg("moving_mask").none(),
        nb::arg("model"), nb::arg("options"), nb::arg("affine_lps"), nb::arg("progress").none());
  m.def("option_names", &option_names, nb::arg("model"));
}

}  // namespace freeflow::python
