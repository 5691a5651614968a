// fluidreg: nonrigid registration by flows, for large deformations.
#include <charconv>

#include <apps/nonrigid.h>
#include <apps/output_names.h>
#include <apps/pair_list.h>
#include <apps/program.h>

namespace po = boost::program_options;
using namespace freeflow;
using namespace freeflow::apps;

namespace {

constexpr const char* summary =
    "nonrigid registration of two volumes by a flow of small smooth steps, which keeps the "
    "topology.\n"
    "Finds u so that moving(affine(x + u(x))) matches fixed(x), coarse to fine, and writes both "
    "directions.";

struct FluidregOptions {
  CommonOptions common;
  std::string model = "flow", sigma_update, sigma_field, smoother = "auto", velocity = "gaussian";
  Viscosity viscosity;
  double step = FlowOptions{}.step, kl = FlowOptions{}.kl;
  std::string force_kernel = "reuse", demons = "log";
  bool symmetric = false;
};

po::options_description all_options(FluidregOptions& o) {
  const auto text = [](std::string& value) { return po::value(&value)->default_value(value); };
  o.common.levels = FlowOptions{}.levels;
  po::options_description own("Flow");
  own.add_options()  //
      ("model", text(o.model)->value_name("fluid|flow|demons"),
       "fluid: viscous fluid with regridding; flow: greedy compositive flow; demons: Gauss-Newton "
       "updates with -s ssd")("demons", text(o.demons)->value_name("log|esm|thirion"),
                              "demons: log-domain, with an exact inverse; symmetric forces, "
                              "composed; or Thirion's, added")(
          "symmetric", po::bool_switch(&o.symmetric),
          "flow, log-domain demons: both images pull on one field, so that swapped images give the "
          "inverse where they lie on one grid and --linear none leaves them there")(
          "sigma-update", po::value(&o.sigma_update)->value_name("1.7vox|3mm"),
          "Gaussian smoothing of every step, in the level's smallest voxel side or mm: "
          "larger is stiffer (default 1.7vox, fluid 3vox)")(
          "sigma-field", po::value(&o.sigma_field)->value_name("0.6vox|1mm"),
          "flow, demons: Gaussian smoothing of the displacement after every step, in each axis' "
          "voxels of the level or mm, one value or "
          "one per level; 0 for none (default: the flow diffuses and spares jumps; demons 0.6vox)")(
          "smoother", text(o.smoother)->value_name("recursive|separable|fft|auto"),
          "how the Gaussians are computed")(
          "velocity", text(o.velocity)->value_name("gaussian|navier"),
          "how the force becomes a velocity: smoothed by sigma-update, or that of a viscous fluid "
          "(not for demons)")(
          "mu", po::value(&o.viscosity.mu)->default_value(o.viscosity.mu, "1")->value_name("V"),
          "navier: viscosity; its ratio to lambda counts")(
          "lambda",
          po::value(&o.viscosity.lambda)->default_value(o.viscosity.lambda, "1")->value_name("V"),
          "navier: resistance to changes of volume, at least -mu")(
          "kl", po::value(&o.kl)->default_value(o.kl, "0")->value_name("W"),
          "fluid, flow: weight of the symmetric Kullback-Leibler term, which keeps noise from "
          "growing or shrinking anything")(
          "force-kernel", text(o.force_kernel)->value_name("recompute|reuse"),
          "how a GPU computes that term's force; the result is the same")(
          "step", po::value(&o.step)->default_value(o.step, "0.5")->value_name("VOX"),
          "largest motion of one iteration in the side of the level's smallest voxel face (fluid, "
          "demons: its smallest side), at most 1");
  po::options_description all = common_options(o.common);
  all.add(own);
  return all;
}

/// Numbers with an x between them, and a unit that holds for all.
std::vector<Sigma> parse_sigmas(const std::string& option, const std::string& text) {
  std::vector<Sigma> sigmas;
  const char *p = text.data(), *const end = p + text.size();
  std::string unit;
  do {
    Sigma sigma;
    const auto [next, error] = std::from_chars(p, end, sigma.value);
    const bool more = next != end && *next == 'x' && next + 1 != end;
    if (!more) unit.assign(next, end);
    require(
        error == std::errc() && sigma.value >= 0 &&
            (more || unit.empty() || unit == "mm" || unit == "vox"),
        "--" + option + " '" + text + "' is not a number with vox or mm, such as 1.7vox or 3mm");
    sigmas.push_back(sigma);
    p = more ? next + 1 : end;
  } while (p != end);
  for (Sigma& s : sigmas) s.in_mm = unit == "mm";
  return sigmas;
}

Sigma parse_sigma(const std::string& option, const std::string& text) {
  const std::vector<Sigma> sigmas = parse_sigmas(option, text);
  require(sigmas.size() == 1, "--" + option + " takes one value for all levels");
  return sigmas[0];
}

FieldSigmas field_sigmas(const FluidregOptions& o) {
  FieldSigmas sigmas;
  if (!o.sigma_field.empty())
    for (const Sigma& s : parse_sigmas("sigma-field", o.sigma_field)) sigmas.push_back(s);
  return sigmas;
}

void set_steps(const FluidregOptions& o, StepOptions& options) {
  apply_common(o.common, options);
  require(!parse_outputs(o.common.outputs).lattice, lattice_is_of_ffdreg);
  if (!o.sigma_update.empty()) options.sigma_update = parse_sigma("sigma-update", o.sigma_update);
  options.step = o.step;
  options.smoother =
      chosen(parse_smoother(o.smoother), "smoother", o.smoother, "recursive, separable, fft, auto");
}

/// What flow and fluid have beyond the steps.
template <class Options>
void set_fluid(const FluidregOptions& o, Options& options) {
  options.velocity = chosen(parse_velocity(o.velocity), "velocity", o.velocity, "gaussian, navier");
  options.viscosity = o.viscosity;
  options.kl = o.kl;
  options.force_kernel =
      chosen(parse_kl_kernel(o.force_kernel), "force-kernel", o.force_kernel, "recompute, reuse");
}

FlowOptions flow_options(const FluidregOptions& o) {
  FlowOptions flow;
  set_steps(o, flow);
  set_fluid(o, flow);
  flow.sigma_field = field_sigmas(o);
  flow.symmetric = o.symmetric;
  return flow;
}

FluidOptions fluid_options(const FluidregOptions& o) {
  FluidOptions fluid;
  set_steps(o, fluid);
  set_fluid(o, fluid);
  return fluid;
}

DemonsOptions demons_options(const FluidregOptions& o) {
  DemonsOptions demons;
  set_steps(o, demons);
  demons.kind = chosen(parse_demons(o.demons), "demons", o.demons, "log, esm, thirion");
  demons.sigma_field = field_sigmas(o);
  demons.symmetric = o.symmetric;
  return demons;
}

NonrigidModel library_options(const FluidregOptions& o) {
  require(o.model == "flow" || o.model == "fluid" || o.model == "demons",
          "--model '" + o.model + "' is not one of fluid, flow, demons");
  NonrigidModel model = flow_options(o);  // whatever the model, so that every word is checked
  if (o.model == "fluid") model = fluid_options(o);
  if (o.model == "demons") model = demons_options(o);
  std::visit([](const auto& options) { options.validate(); }, model);
  return model;
}

void refuse_unused(const po::variables_map& found, const FluidregOptions& o) {
  const auto allow = [&](const std::string& option, bool used, const std::string& mend) {
    refuse_idle(found, option, used, mend);
  };
  const bool navier = o.velocity == "navier", demons = o.model == "demons",
             fluid = o.model == "fluid";
  require(!demons || !navier,
          "demons smooth their update by a Gaussian; take --velocity gaussian, or --model flow");
  require(!demons || o.kl == 0,
          "demons take no Kullback-Leibler term; take --model fluid or flow, or --kl 0");
  require(!o.symmetric || !fluid,
          "--symmetric goes with --model flow, and with --model demons --demons log");
  allow("demons", demons, "add --model demons, or leave it out");
  allow("sigma-field", !fluid,
        "a fluid smooths its velocity alone: take --sigma-update, or --model flow");
  allow(
      "sigma-update", !navier,
      "a viscous velocity is set by --mu and --lambda: leave it out, or take --velocity gaussian");
  allow("smoother", !(navier && fluid),
        "a viscous fluid smooths by no Gaussian: leave it out, or take --velocity gaussian");
  for (const char* option : {"mu", "lambda"})
    allow(option, navier, "add --velocity navier, or leave it out");
  allow("force-kernel", o.kl != 0, "add --kl W, or leave it out");
}

int run(int argc, char** argv) {
  FluidregOptions o;
  po::variables_map found;
  if (!parse_command_line(argc, argv, "fluidreg",
                          {summary, nonrigid_example("fluidreg"),
                           everyday_options({"linear", "start", "model", "symmetric"})},
                          all_options(o), found))
    return done;
  std::vector<CommonOptions> pairs;
  const NonrigidModel model = with_config_named(found, [&]() -> NonrigidModel {
    pairs = checked_pairs(o.common, nonrigid_names);
    refuse_unused(found, o);
    return library_options(o);
  });
  return run_nonrigid("fluidreg", pairs, found, model);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("fluidreg", [&] { return run(argc, argv); });
}
