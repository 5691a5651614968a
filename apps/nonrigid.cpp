#include <apps/nonrigid.h>

#include <apps/field_names.h>
#include <apps/images.h>
#include <apps/memory_check.h>
#include <apps/output_names.h>
#include <apps/program.h>
#include <apps/progress.h>
#include <apps/report.h>
#include <apps/results.h>

namespace freeflow::apps {

namespace {

/// Voxels times iterations of every level, for the estimate of the time left.
std::vector<double> work_per_level(const Geometry& fixed, const NonrigidModel& model) {
  return std::visit(
      [&](const auto& options) {
        std::vector<double> work;
        for (const Factors& f : pyramid_factors(fixed, options.levels))
          work.push_back(double(fixed.extent.count()) / (double(f[0]) * f[1] * f[2]) *
                         options.iterations_of_level(int(work.size())));
        return work;
      },
      model);
}

LevelOptions& levels_of(NonrigidModel& model) {
  return std::visit([](auto& options) -> LevelOptions& { return options; }, model);
}

}  // namespace

void apply_common(const CommonOptions& common, LevelOptions& options) {
  options.similarity = similarity_choice(common);
  options.levels = common.levels;
  options.iterations = parse_iterations(common.iterations);
  options.with_inverse = parse_outputs(common.outputs).needs_inverse();
}

int run_nonrigid(const std::string& program, const CommonOptions& common,
                 const boost::program_options::variables_map& found, NonrigidModel model) {
  const Interpolation interpolation = parse_interpolation(common.interpolation);
  Context ctx(Device::parse(common.device), common.threads);
  Outputs outputs(nonrigid_names(common));
  Timings seconds;
  Stopwatch watch;

  Inputs inputs = read_inputs(common);
  for (const std::string& warning : idle_options(common, found)) inputs.warnings.push_back(warning);
  FileTransform start = initial_transform(common.init, inputs);
  RegistrationOptions options{std::move(model), parse_linear_model(common.linear),
                              *parse_start(common.start)};
  LevelOptions& levels = levels_of(options.model);
  levels.initial = start.affine;
  RegistrationInputs sizes = inputs.sizes();
  DisplacementField initial_displacement;
  if (start.displacement) {
    require(common.linear == "none" || found["linear"].defaulted(),
            "--linear " + common.linear +
                " cannot follow the displacement that --init gives; leave it out");
    levels.initial_displacement = &initial_displacement;
    sizes.initial_displacement = start.displacement->geometry;
    options.validate();
    if (common.linear != "none")
      inputs.warnings.push_back("--init gives a displacement, so there is no linear stage");
  }
  warn_of_folder(common.output, inputs.warnings);
  warn_of_older_outputs(common, outputs.names, inputs.warnings);
  print_warnings(program, inputs.warnings, common);

  Progress progress(common.similarity, work_per_level(inputs.fixed_image().geometry, options.model),
                    verbosity(common));
  const std::size_t predicted = predict_bytes(ctx, sizes, options);
  progress.announce(describe(inputs) + "device " + ctx.device().name() + " (" +
                    ctx.device().description() + "), about " +
                    std::to_string((predicted >> 20) + 1) + " MiB needed\n");
  require_memory(ctx, predicted,
                 nonrigid_writing_bytes(sizes.fixed, sizes.moving, outputs.names.affine.empty()));
  DeviceInputs on_device(ctx, inputs);
  if (start.displacement) {
    initial_displacement =
        DisplacementField(ctx, start.displacement->geometry, start.displacement->planes);
    start.displacement.reset();
  }
  seconds.reading = watch.lap();
  stop_if_interrupted();

  const RegistrationResult result = register_images(ctx, on_device.fixed, on_device.moving, options,
                                                    on_device.masks(), &progress);
  if (result.linear) {
    print_warnings(program, translated(result.linear->warnings), common);
    print_warnings(program, said_of_rotation(start.affine, result.linear->affine, inputs), common);
  }
  print_warnings(program, translated(result.warnings), common);
  seconds.linear = result.linear ? result.linear->seconds : 0;
  seconds.nonrigid = result.nonrigid_seconds;
  seconds.inverting = result.inverse_seconds;
  watch.lap();

  on_device.restore(ctx, inputs);
  write_results(ctx, outputs, inputs, on_device, result, interpolation);
  seconds.writing = watch.lap();
  if (!outputs.names.report.empty())
    write_report(outputs.set.file(outputs.names.report), ctx,
                 {program, found, inputs, result, seconds, predicted});
  stop_if_interrupted();
  outputs.set.commit();
  print_label_commands(common, outputs.names);
  return done;
}

}  // namespace freeflow::apps
