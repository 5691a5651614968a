#include <freeflow/python/native/registration.h>

#include <memory>
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
#include <freeflow/registration/levels/inverse.h>
#include <freeflow/transform/affine_split.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

/// An image that registrations share, with the volumes that it refers to.
struct PyPreparedImage {
  SharedContext context;
  nb::list volumes;  ///< before what refers to them
  PreparedImage image;
  MemoryAxes axes = {0, 1, 2};  ///< of the first channel
};

/// `side` is fixed or moving.
PyPreparedImage prepared(const SharedContext& context, const nb::list& channels, nb::handle mask,
                         const std::string& side) {
  require(nb::len(channels) > 0, side + " has no channels");
  nb::list kept;
  std::vector<Volume<float>> lent;
  for (nb::handle channel : channels) {
    lent.push_back(nb::cast<const PyVolume<float>&>(channel).voxels.lend());
    kept.append(channel);
  }
  Volume<float> lent_mask;
  if (!mask.is_none()) {
    lent_mask = nb::cast<const PyVolume<float>&>(mask).voxels.lend();
    kept.append(mask);
  }
  const MemoryAxes axes = nb::cast<const PyVolume<float>&>(nb::object(kept[0])).axes;
  const char* const what = side == "fixed" ? "the fixed image" : "the moving image";
  return {context, kept, PreparedImage(std::move(lent), std::move(lent_mask), what), axes};
}

LevelOptions& levels_of(NonrigidModel& model) {
  return std::visit([](auto& o) -> LevelOptions& { return o; }, model);
}

bool is_symmetric(const NonrigidModel& model) {
  return std::visit(
      [](const auto& o) {
        if constexpr (requires { o.symmetric; })
          return o.symmetric;
        else
          return false;
      },
      model);
}

/// x -> affine(x + u(x))
PyTransform forward(const SharedContext& context, RegistrationResult& r, const MemoryAxes& axes) {
  return {context, {}, Transform(std::move(r.displacement), r.affine), {axes}};
}

/// What a registration's own inverse is computed from, once it is asked for.
struct LateInverse {
  SharedContext context;
  std::shared_ptr<const DisplacementField> displacement;
  DisplacementField velocity;  ///< of a symmetric model
  UnfoldResult unfolding;
  Eigen::Affine3d affine;
  bool symmetric = false;
  MemoryAxes axes = {0, 1, 2};
};

/// `there` is the transform that has taken the result's displacement.
LateInverse inverse_for_later(const PyTransform& there, RegistrationResult& r, bool symmetric) {
  return {there.context,
          there.chain.links()[0].field,
          symmetric ? std::move(r.velocity) : DisplacementField(),
          r.unfolding,
          r.affine,
          symmetric,
          there.axes[0]};
}

/// (inverse, report): y -> w + v(w), w = affine^-1(y), and what there is to say of it.
nb::tuple compute(const LateInverse& late) {
  RegistrationResult result;
  result.displacement = late.displacement->lend();
  result.velocity = late.velocity.lend();
  result.unfolding = late.unfolding;
  observed(nb::none(), [&](PyObserver& watch) {
    on(*late.context,
       [&](Context& ctx) { add_inverse(ctx, result, late.symmetric, watch.stop_request()); });
  });
  const nb::dict report = report_of_inverse(result);
  Transform chain(late.affine.inverse());
  chain.then(std::move(result.inverse->field));
  return nb::make_tuple(PyTransform{late.context, {}, std::move(chain), {late.axes}}, report);
}

/// Runs a registration, in whose report its memory stands.
template <class Register>
auto counted(PyContext& context, std::size_t& peak_bytes, const Register& run) {
  return on(context, [&](Context& ctx) {
    ctx.reset_peak();
    auto result = run(ctx);
    peak_bytes = ctx.statistics().peak_bytes;
    return result;
  });
}

/// What a report says beside the library's result.
template <class Result>
nb::dict whole_report_of(const Result& result, const SimilarityChoice& similarity,
                         const PyPreparedImage& fixed, std::size_t peak_bytes) {
  nb::dict report = report_of(result), memory;
  memory["peak_device"] = peak_bytes;
  report["memory_bytes"] = memory;
  report["channel_weights"] = weights_of(similarity, fixed.image.channels());
  return report;
}

/// (transform, LateInverse, report)
nb::tuple register_nonrigid(const SharedContext& context, PyPreparedImage& fixed,
                            PyPreparedImage& moving, const std::string& model,
                            const nb::dict& options, const Matrix& affine, nb::handle displacement,
                            const nb::object& progress) {
  RegistrationOptions o = registration_options(model, options);
  LevelOptions& levels = levels_of(o.model);
  levels.initial = affine_of(affine, "init");
  const auto* given = displacement.is_none() ? nullptr : &nb::cast<const PyField&>(displacement);
  DisplacementField deformation;
  std::size_t peak_bytes = 0;
  RegistrationResult result = observed(progress, [&](PyObserver& watch) {
    return counted(*context, peak_bytes, [&](Context& ctx) {
      if (given) {
        levels.initial_displacement = given->field.get();
        const Geometry& grid = given->field->geometry();
        if (const auto split = split_affine(grid, given->field->to_host(ctx), ctx.threads())) {
          deformation = DisplacementField(ctx, grid, split->planes);
          levels.initial_displacement = &deformation;
          levels.initial = levels.initial * split->affine;
        }
      }
      return register_images(ctx, fixed.image, moving.image, o, &watch);
    });
  });
  const nb::dict report = whole_report_of(result, levels.similarity, fixed, peak_bytes);
  const PyTransform there = forward(context, result, fixed.axes);
  return nb::make_tuple(there, inverse_for_later(there, result, is_symmetric(o.model)), report);
}

/// (transform, inverse, report)
nb::tuple register_affinely(const SharedContext& context, PyPreparedImage& fixed,
                            PyPreparedImage& moving, const std::string& model,
                            const nb::dict& options, const Matrix& affine,
                            const nb::object& progress) {
  LinearOptions o = linear_options(model, options);
  o.initial = affine_of(affine, "init");
  std::size_t peak_bytes = 0;
  const LinearResult result = observed(progress, [&](PyObserver& watch) {
    return counted(*context, peak_bytes, [&](Context& ctx) {
      return register_linear(ctx, fixed.image, moving.image, o, &watch);
    });
  });
  return nb::make_tuple(
      PyTransform{context, {}, Transform(result.affine), {}},
      PyTransform{context, {}, Transform(Eigen::Affine3d(result.affine.inverse())), {}},
      whole_report_of(result, o.similarity, fixed, peak_bytes));
}

/// Of images as they came; a mask may be None.
nb::dict figures(const PyTransform& there, const PyVolume<float>& fixed,
                 const PyVolume<float>& moving, nb::handle fixed_mask, nb::handle moving_mask) {
  const bool affine = there.chain.is_affine();
  const DisplacementField* const field = affine ? nullptr : there.chain.links()[0].field.get();
  const Eigen::Affine3d& world = affine ? there.chain.first() : there.chain.links()[0].after;
  const auto volume_of = [](nb::handle mask) {
    return mask.is_none() ? nullptr : &nb::cast<const PyVolume<float>&>(mask);
  };
  const auto *const in_fixed = volume_of(fixed_mask), *const in_moving = volume_of(moving_mask);
  Similarities found;
  DisplacementRange range;
  on(*there.context, [&](Context& ctx) {
    std::vector<float> of_fixed, of_moving;
    if (in_fixed) of_fixed = in_fixed->voxels.to_host(ctx);
    if (in_moving) of_moving = in_moving->voxels.to_host(ctx);
    found = similarities(ctx, fixed.voxels, moving.voxels, world, field,
                         {in_fixed ? &of_fixed : nullptr, in_moving ? &of_moving : nullptr});
    if (field) range = displacement_range(ctx, *field);
  });
  return report_of(found, field ? &range : nullptr);
}

}  // namespace

void bind_registration(nb::module_& m) {
  nb::class_<PyPreparedImage>(m, "PreparedImage")
      .def_static("make", &prepared, nb::arg("context"), nb::arg("channels"),
                  nb::arg("mask").none(), nb::arg("side"));
  nb::class_<LateInverse>(m, "LateInverse").def("compute", &compute);
  m.def("register_nonrigid", &register_nonrigid, nb::arg("context"), nb::arg("fixed"),
        nb::arg("moving"), nb::arg("model"), nb::arg("options"), nb::arg("affine_lps"),
        nb::arg("displacement").none(), nb::arg("progress").none());
  m.def("register_linear", &register_affinely, nb::arg("context"), nb::arg("fixed"),
        nb::arg("moving"), nb::arg("model"), nb::arg("options"), nb::arg("affine_lps"),
        nb::arg("progress").none());
  m.def("figures", &figures, nb::arg("transform"), nb::arg("fixed"), nb::arg("moving"),
        nb::arg("fixed_mask").none(), nb::arg("moving_mask").none());
  m.def("option_names", &option_names, nb::arg("model"),
        "The options that register(model=...) takes; the programs' --help explains them.");
}

}  // namespace freeflow::python
