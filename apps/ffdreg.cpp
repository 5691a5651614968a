// ffdreg: nonrigid registration by a B-spline free-form deformation.
#include <cstdio>

#include <optional>

#include <apps/options.h>
#include <apps/program.h>
#include <apps/progress.h>
#include <apps/report.h>
#include <apps/results.h>
#include <freeflow/registration/pyramid.h>

namespace po = boost::program_options;
using namespace freeflow;
using namespace freeflow::apps;

namespace {

constexpr const char* summary =
    "nonrigid registration of two volumes by a cubic B-spline free-form deformation.\n"
    "Finds u so that moving(affine(x + u(x))) matches fixed(x), coarse to fine, and writes both directions.";

constexpr const char* example =
    "Example: bring s02.nii.gz onto s01.nii.gz and carry its labels along:\n"
    "  ffdreg -f s01.nii.gz -m s02.nii.gz -o out/s02_to_s01_\n"
    "  antsApplyTransforms -i s02_labels.nii.gz -r s01.nii.gz -n GenericLabel -o labels.nii.gz \\\n"
    "    -t out/s02_to_s01_1Warp.nii.gz -t out/s02_to_s01_0GenericAffine.mat\n"
    "Written: PREFIX0GenericAffine.mat, PREFIX1Warp.nii.gz, PREFIX1InverseWarp.nii.gz, PREFIXWarped.nii.gz,\n"
    "PREFIXInverseWarped.nii.gz and PREFIXreport.json.\n"
    "Exit status: 0 done, 1 the work failed, 2 the call or an input is unusable, 130 interrupted.\n";

const std::vector<std::string> written_files = {"0GenericAffine.mat", "1Warp.nii.gz",         "1InverseWarp.nii.gz",
                                                "Warped.nii.gz",      "InverseWarped.nii.gz", "report.json"};

struct FfdregOptions {
  CommonOptions common;
  std::string spacing = "5vox", optimizer = "lbfgs";
  double bending = FfdOptions{}.bending, log_jacobian = FfdOptions{}.log_jacobian;
};

po::options_description all_options(FfdregOptions& o) {
  po::options_description own("Free-form deformation");
  own.add_options()  //
      ("spacing", po::value(&o.spacing)->default_value(o.spacing)->value_name("5vox|10mm"),
       "distance of the control points on the finest level, in its smallest voxel side or mm; doubled on every coarser level")  //
      ("bending", po::value(&o.bending)->default_value(o.bending, "1")->value_name("W"), "weight of the bending energy")        //
      ("log-jacobian", po::value(&o.log_jacobian)->default_value(o.log_jacobian, "0.05")->value_name("W"),
       "weight of the squared logarithm of the Jacobian, against folding")  //
      ("optimizer", po::value(&o.optimizer)->default_value(o.optimizer)->value_name("gradient|cg|lbfgs"), "rule of descent");
  po::options_description all = common_options(o.common);
  all.add(own);
  return all;
}

FfdOptions library_options(const FfdregOptions& o) {
  FfdOptions ffd;
  ffd.similarity = similarity_choice(o.common);
  ffd.levels = o.common.levels;
  ffd.iterations = parse_iterations(o.common.iterations);
  ffd.spacing = parse_spacing(o.spacing);
  ffd.bending = o.bending;
  ffd.log_jacobian = o.log_jacobian;
  const auto optimizer = parse_optimizer(o.optimizer);
  require(optimizer.has_value(), "--optimizer '" + o.optimizer + "' is not one of gradient, cg, lbfgs");
  ffd.optimizer = *optimizer;
  ffd.validate();
  return ffd;
}

std::vector<double> work_per_level(const Geometry& fixed, const FfdOptions& ffd) {
  std::vector<double> work;
  for (const Factors& f : pyramid_factors(fixed, ffd.levels))
    work.push_back(double(fixed.extent.count()) / (double(f[0]) * f[1] * f[2]) * ffd.iterations_of_level(int(work.size())));
  return work;
}

int run(int argc, char** argv) {
  FfdregOptions o;
  po::variables_map found;
  if (!parse_command_line(argc, argv, "ffdreg", summary, example, all_options(o), found)) return done;
  validate(o.common);
  protect_inputs(o.common, written_files);
  FfdOptions ffd = library_options(o);
  const Interpolation interpolation = parse_interpolation(o.common.interpolation);
  Context ctx(Device::parse(o.common.device), o.common.threads);
  OutputSet outputs(o.common.output);
  Timings seconds;
  Stopwatch watch;

  const Inputs inputs = read_inputs(o.common);
  ffd.initial = initial_transform(o.common.init, inputs);
  const auto warn = [&](const std::vector<std::string>& warnings) { print_warnings("ffdreg", warnings, o.common); };
  warn(inputs.warnings);
  const DeviceInputs on_device(ctx, inputs);
  const Volume<float>&fixed = on_device.fixed, &moving = on_device.moving;
  const Masks masks = on_device.masks();
  seconds.reading = watch.lap();
  stop_if_interrupted();

  const std::size_t predicted = predict_ffd_bytes(ctx, fixed.geometry(), moving.geometry(), ffd, masks);
  std::optional<LinearResult> linear;
  Progress progress(o.common.similarity, work_per_level(fixed.geometry(), ffd), verbosity(o.common));
  progress.announce("fixed  " + describe(fixed.geometry()) + "\nmoving " + describe(moving.geometry()) + "\ndevice " + ctx.device().name() +
                    " (" + ctx.device().description() + "), about " + std::to_string((predicted >> 20) + 1) + " MiB needed\n");
  if (o.common.linear != "none") {
    LinearOptions options;
    options.similarity = ffd.similarity;
    options.model = *parse_linear_model(o.common.linear);
    options.initial = ffd.initial;
    Progress linear_progress(o.common.similarity, {}, verbosity(o.common));
    linear = register_linear(ctx, fixed, moving, options, masks, &linear_progress);
    warn(linear->warnings);
    ffd.initial = linear->affine;
    seconds.linear = watch.lap();
  }
  const RegistrationResult result = register_ffd(ctx, fixed, moving, ffd, masks, &progress);
  warn(result.warnings);
  seconds.nonrigid = result.nonrigid_seconds;
  seconds.inverting = result.inverse_seconds;
  watch.lap();

  write_results(ctx, outputs, inputs, fixed, moving, result, interpolation);
  seconds.writing = watch.lap();
  write_report(outputs.file("report.json"), ctx, {"ffdreg", found, inputs, linear, result, seconds, predicted});
  stop_if_interrupted();
  outputs.commit();
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("ffdreg", [&] { return run(argc, argv); });
}
