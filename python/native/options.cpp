#include <freeflow/python/native/options.h>

#include <charconv>
#include <utility>

#include <freeflow/python/native/option_reader.h>

namespace nb = nanobind;

namespace freeflow::python {

namespace {

/// A length: a number, in voxels, or words such as "3vox" and "10mm".
struct Length {
  double value = 0;
  bool in_mm = false;
};

Length length_of(const std::string& name, nb::handle given) {
  Length length;
  if (!nb::isinstance<nb::str>(given) && !nb::isinstance<nb::bool_>(given) &&
      nb::try_cast<double>(given, length.value, true))
    return length;
  const auto text = nb::cast<std::string>(nb::str(given));
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, length.value);
  const std::string unit(rest, end);
  require(error == std::errc() && (unit == "mm" || unit == "vox" || unit.empty()),
          name + " '" + text + "' is not a number (voxels) or words such as '1.7vox' and '3mm'");
  length.in_mm = unit == "mm";
  return length;
}

void take_length(OptionReader& in, const char* name, auto& target) {
  nb::object given;
  in.take(name, given, "a length");
  if (!given.is_valid()) return;
  const Length length = length_of(name, given);
  target.value = length.value;
  target.in_mm = length.in_mm;
}

void take_lengths(OptionReader& in, const char* name, FieldSigmas& target) {
  nb::object given;
  in.take(name, given, "a length or a list of them");
  if (!given.is_valid()) return;
  const bool list = nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given);
  const auto add = [&](nb::handle value) {
    const Length length = length_of(name, value);
    target.push_back({length.value, length.in_mm});
  };
  if (!list) return add(given);
  for (nb::handle value : given) add(value);
}

std::optional<RatioDirection> parse_direction(bool of_fixed) {
  return of_fixed ? RatioDirection::fixed_given_moving : RatioDirection::moving_given_fixed;
}

void take_similarity(OptionReader& in, SimilarityChoice& c) {
  std::vector<SimilarityTerm> sum;
  in.choose("similarity", sum, parse_similarity_sum,
            "auto, nmi, mi, cr, ssd, lncc, mind, or a sum of them such as lncc+0.3nmi");
  if (sum.size() == 1) c.kind = sum[0].kind;
  if (sum.size() > 1) c.sum = std::move(sum);
  in.take("channel_weights", c.channel_weights);
  in.take("bins", c.bins);
  in.choose("estimator", c.estimator, parse_estimator, "parzen, parzen_both, partial_volume, hard");
  in.choose("histogram_scheme", c.histogram_scheme, parse_histogram_scheme,
            "the programs' --list-schemes");
  in.choose("ratio_scheme", c.ratio_scheme, parse_ratio_scheme, "the programs' --list-schemes");
  bool of_fixed = false;
  in.take("cr_of_fixed", of_fixed);
  c.ratio_direction = *parse_direction(of_fixed);
  in.take("cr_border", c.border_mm);
  in.take("lncc_radius", c.lncc_radius);
  in.take("mind_radius", c.mind_radius);
  in.take("mind_dilation", c.mind_dilation);
}

void take_common(OptionReader& in, LevelOptions& o) {
  take_similarity(in, o.similarity);
  in.take("levels", o.levels);
  in.take("iterations", o.iterations);
}

FfdOptions ffd_options(OptionReader& in) {
  FfdOptions o;
  take_common(in, o);
  take_length(in, "spacing", o.spacing);
  in.take("total_variation", o.total_variation);
  in.take("bending", o.bending);
  in.take("log_jacobian", o.log_jacobian);
  in.choose("optimizer", o.optimizer, parse_optimizer, "gradient, cg, lbfgs");
  return o;
}

void take_steps(OptionReader& in, StepOptions& o) {
  take_common(in, o);
  take_length(in, "sigma_update", o.sigma_update);
  in.choose("smoother", o.smoother, parse_smoother, "recursive, separable, fft, auto");
  in.take("step", o.step);
}

template <class Options>
void take_fluid(OptionReader& in, Options& o) {
  in.choose("velocity", o.velocity, parse_velocity, "gaussian, navier");
  in.take("mu", o.viscosity.mu);
  in.take("lambda_", o.viscosity.lambda);
  in.take("kl", o.kl);
  in.choose("force_kernel", o.force_kernel, parse_kl_kernel, "recompute, reuse");
}

FlowOptions flow_options(OptionReader& in) {
  FlowOptions o;
  take_steps(in, o);
  take_fluid(in, o);
  take_lengths(in, "sigma_field", o.sigma_field);
  in.take("symmetric", o.symmetric);
  return o;
}

FluidOptions fluid_options(OptionReader& in) {
  FluidOptions o;
  take_steps(in, o);
  take_fluid(in, o);
  return o;
}

DemonsOptions demons_options(OptionReader& in) {
  DemonsOptions o;
  take_steps(in, o);
  in.choose("demons", o.kind, parse_demons, "log, esm, thirion");
  take_lengths(in, "sigma_field", o.sigma_field);
  in.take("symmetric", o.symmetric);
  return o;
}

NonrigidModel model_of(const std::string& model, OptionReader& in) {
  if (model == "flow") return flow_options(in);
  if (model == "ffd") return ffd_options(in);
  if (model == "fluid") return fluid_options(in);
  if (model == "demons") return demons_options(in);
  throw InvalidArgument("model '" + model +
                        "' is not one of flow, ffd, fluid, demons, rigid, similarity, scaled, "
                        "affine");
}

std::optional<std::optional<LinearModel>> parse_stage(const std::string& word) {
  if (word == "none") return std::optional<LinearModel>();
  const std::optional<LinearModel> model = parse_linear_model(word);
  if (!model) return {};
  return model;
}

RegistrationOptions read_registration(const std::string& model, OptionReader& in) {
  RegistrationOptions o;
  o.model = model_of(model, in);
  in.choose("linear", o.linear, parse_stage, "none, rigid, similarity, affine");
  in.choose("start", o.start, parse_start, "auto, discrete, none");
  return o;
}

LinearOptions read_linear(const std::string& model, OptionReader& in) {
  LinearOptions o;
  o.model = model == "scaled" ? LinearModel::scaled : *parse_linear_model(model);
  take_similarity(in, o.similarity);
  in.take("levels", o.levels);
  in.take("iterations", o.iterations);
  in.choose("search", o.search, parse_linear_search, "auto, gradient, powell, hill, flirt");
  in.choose("refine", o.refinement, parse_linear_refinement, "auto, blocks, none");
  in.choose(
      "sampling", o.similarity.sampling,
      [](const std::string& word) -> std::optional<Interpolation> {
        if (word == "linear") return Interpolation::linear;
        if (word == "cubic") return Interpolation::cubic;
        return {};
      },
      "linear, cubic");
  return o;
}

}  // namespace

RegistrationOptions registration_options(const std::string& model, const nb::dict& options) {
  OptionReader in(options);
  RegistrationOptions o = read_registration(model, in);
  o.every_level = options.contains("levels");
  in.finish("model='" + model + "'");
  o.validate();
  return o;
}

LinearOptions linear_options(const std::string& model, const nb::dict& options) {
  OptionReader in(options);
  LinearOptions o = read_linear(model, in);
  in.finish("model='" + model + "'");
  o.validate();
  return o;
}

NonlocalMeansOptions denoising_options(const nb::dict& options) {
  OptionReader in(options);
  NonlocalMeansOptions o;
  in.take("band", o.band);
  in.take("patch", o.patch);
  in.take("neighbours", o.neighbours);
  in.take("iterations", o.iterations);
  in.take("c1", o.c1);
  in.take("c2", o.c2);
  in.take("limit", o.limit);
  in.take("search_radius", o.search_radius);
  in.take("keep_volume", o.keep_volume);
  in.choose("strategy", o.strategy, parse_search_strategy,
            "auto, constant, texture, global, tiled");
  in.finish("denoise_surface");
  o.validate();
  return o;
}

std::vector<std::string> option_names(const std::string& model) {
  const nb::dict none;
  OptionReader in(none);
  if (model == "scaled" || parse_linear_model(model))
    read_linear(model, in);
  else
    read_registration(model, in);
  return in.names();
}

}  // namespace freeflow::python
