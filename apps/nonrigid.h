// What ffdreg and fluidreg share: read, align linearly, register, write. They differ in the options and the registration.
#pragma once

#include <apps/images.h>
#include <apps/options.h>
#include <apps/program.h>
#include <apps/progress.h>
#include <apps/report.h>
#include <apps/results.h>
#include <freeflow/registration/linear.h>
#include <freeflow/registration/pyramid.h>

namespace freeflow::apps {

inline const std::vector<std::string> nonrigid_files = {"0GenericAffine.mat", "1Warp.nii.gz",         "1InverseWarp.nii.gz",
                                                        "Warped.nii.gz",      "InverseWarped.nii.gz", "report.json"};

/// Voxels times iterations of every level, for the estimate of the time left.
template <class Options>
std::vector<double> work_per_level(const Geometry& fixed, const Options& options) {
  std::vector<double> work;
  for (const Factors& f : pyramid_factors(fixed, options.levels))
    work.push_back(double(fixed.extent.count()) / (double(f[0]) * f[1] * f[2]) * options.iterations_of_level(int(work.size())));
  return work;
}

/// One run of a program after its command line is understood. Options: FfdOptions or FlowOptions. predict(ctx, fixed geometry, moving
/// geometry, options, masks) gives bytes; register_images(ctx, fixed, moving, options, masks, observer) the RegistrationResult. Returns the
/// exit status.
template <class Options, class Predict, class Register>
int run_nonrigid(const std::string& program, const CommonOptions& common, const boost::program_options::variables_map& found,
                 Options options, const Predict& predict, const Register& register_images) {
  const Interpolation interpolation = parse_interpolation(common.interpolation);
  Context ctx(Device::parse(common.device), common.threads);
  OutputSet outputs(common.output);
  Timings seconds;
  Stopwatch watch;

  Inputs inputs = read_inputs(common);
  for (const std::string& warning : idle_options(common, found)) inputs.warnings.push_back(warning);
  FileTransform start = initial_transform(common.init, inputs);
  options.initial = start.affine;
  DisplacementField initial_displacement;
  const bool displaced = start.displacement.has_value();
  if (displaced) {
    require(common.linear == "none" || found["linear"].defaulted(),
            "--linear " + common.linear + " cannot follow the displacement that --init gives; leave it out");
    options.initial_displacement = &initial_displacement;
    options.validate();
    if (common.linear != "none") inputs.warnings.push_back("--init gives a displacement, so there is no linear stage");
  }
  const auto warn = [&](const std::vector<std::string>& warnings) { print_warnings(program, warnings, common); };
  warn(inputs.warnings);
  const DeviceInputs on_device(ctx, inputs);
  const Volume<float>&fixed = on_device.fixed, &moving = on_device.moving;
  const Masks masks = on_device.masks();
  if (displaced) {
    initial_displacement = DisplacementField(ctx, start.displacement->geometry, start.displacement->planes);
    start.displacement.reset();
  }
  seconds.reading = watch.lap();
  stop_if_interrupted();

  const std::size_t predicted = predict(ctx, fixed.geometry(), moving.geometry(), options, masks);
  std::optional<LinearResult> linear;
  Progress linear_progress(common.similarity, {}, verbosity(common));
  linear_progress.announce("fixed  " + describe(fixed.geometry()) + "\nmoving " + describe(moving.geometry()) + "\ndevice " +
                           ctx.device().name() + " (" + ctx.device().description() + "), about " + std::to_string((predicted >> 20) + 1) +
                           " MiB needed\n");
  if (common.linear != "none" && !displaced) {
    LinearOptions first;
    first.similarity = options.similarity;
    first.model = *parse_linear_model(common.linear);
    first.initial = options.initial;
    first.sceptical = true;
    linear = register_linear(ctx, fixed, moving, first, masks, &linear_progress);
    warn(linear->warnings);
    options.initial = linear->affine;
    seconds.linear = watch.lap();
  }
  Progress progress(common.similarity, work_per_level(fixed.geometry(), options), verbosity(common));  // its clock starts now
  const RegistrationResult result = register_images(ctx, fixed, moving, options, masks, &progress);
  warn(result.warnings);
  seconds.nonrigid = result.nonrigid_seconds;
  seconds.inverting = result.inverse_seconds;
  watch.lap();

  write_results(ctx, outputs, inputs, fixed, moving, result, interpolation);
  seconds.writing = watch.lap();
  write_report(outputs.file("report.json"), ctx, {program, found, inputs, linear, result, seconds, predicted});
  stop_if_interrupted();
  outputs.commit();
  return done;
}

}  // namespace freeflow::apps
