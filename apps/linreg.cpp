// linreg: rigid to affine registration.
#include <cstdio>

#include <apps/field_names.h>
#include <apps/memory_check.h>
#include <apps/options.h>
#include <apps/output_names.h>
#include <apps/program.h>
#include <apps/progress.h>
#include <apps/report.h>
#include <apps/results.h>
#include <freeflow/registration/register_images.h>

namespace po = boost::program_options;
using namespace freeflow;
using namespace freeflow::apps;

namespace {

constexpr const char* summary =
    "rigid, similarity or affine registration of two volumes.\n"
    "Finds phi so that moving(phi(x)) matches fixed(x), from any starting rotation, and writes "
    "both directions.";

constexpr const char* example =
    "Example: bring a head onto a template, then carry labels along:\n"
    "  linreg -f template.nii.gz -m head.nii.gz -o out/head_to_template_\n"
    "  regtool apply -i labels.nii.gz -r template.nii.gz --interpolation labels -o there.nii.gz "
    "\\\n"
    "    -t out/head_to_template_0GenericAffine.mat\n"
    "Written: PREFIX0GenericAffine.mat, PREFIXWarped.nii.gz, PREFIXInverseWarped.nii.gz and "
    "PREFIXreport.json; of further channels PREFIXWarped2.nii.gz and so on.\n"
    "With --bids T1w:MNI152NLin2009cAsym -o out/sub-01: "
    "out/sub-01_from-T1w_to-MNI152NLin2009cAsym_mode-image_xfm.txt,\n"
    "the same back, the report beside it as .json, and "
    "out/sub-01_space-MNI152NLin2009cAsym_desc-warped_T1w.nii.gz.\n"
    "Exit status: 0 done, 1 the work failed, 2 the call or an input is unusable, 130 "
    "interrupted.\n";

struct LinregOptions {
  CommonOptions common;
  int dof = 12;
  std::string search = "auto", refine = "auto", resolution = "0.02,0.05", sampling = "linear";
};

po::options_description all_options(LinregOptions& o) {
  o.common.similarity = "nmi";
  o.common.levels = LinearOptions{}.levels;
  po::options_description own("Linear registration");
  own.add_options()  //
      ("dof", po::value(&o.dof)->default_value(o.dof)->value_name("6|7|9|12"),
       "what is free: 6 rotation and translation, 7 and one scale, 9 and three scales, 12 and "
       "skew")  //
      ("search", po::value(&o.search)->default_value(o.search)->value_name(linear_search_names),
       "auto: all rotations, then along the gradient; flirt: FLIRT's four stages; gradient, powell "
       "and hill start where --init says")  //
      ("refine", po::value(&o.refine)->default_value(o.refine)->value_name("auto|blocks|none"),
       "after the search: blocks fits the transform to matched blocks, most of which may be wrong; "
       "auto: after --search auto, unless "
       "slices are thick")  //
      ("powell-resolution",
       po::value(&o.resolution)->default_value(o.resolution)->value_name("MM,DEGREES"),
       "of powell and flirt: nothing nearer to an evaluated point is evaluated again; 0,0 for no "
       "memory")  //
      ("sampling", po::value(&o.sampling)->default_value(o.sampling)->value_name("linear|cubic"),
       "of the moving image while nmi or mi is measured: trilinear, or by a cubic B-spline, which "
       "costs more; the first look at all "
       "rotations stays trilinear");
  po::options_description all = common_options(o.common);
  all.add(own);
  return all;
}

LinearOptions library_options(const LinregOptions& o) {
  LinearOptions linear;
  linear.similarity = similarity_choice(o.common);
  linear.similarity.sampling = parse_interpolation(o.sampling, "sampling");
  linear.levels = o.common.levels;
  linear.iterations = parse_iterations(o.common.iterations);
  linear.model =
      chosen(parse_degrees_of_freedom(o.dof), "dof", std::to_string(o.dof), "6, 7, 9, 12");
  linear.search = chosen(parse_linear_search(o.search), "search", o.search, linear_search_names);
  linear.refinement =
      chosen(parse_linear_refinement(o.refine), "refine", o.refine, "auto, blocks, none");
  char rest = 0;
  require(std::sscanf(o.resolution.c_str(), "%lf,%lf%c", &linear.resolution.mm,
                      &linear.resolution.degrees, &rest) == 2,
          "--powell-resolution '" + o.resolution + "' is not of the form 0.02,0.05");
  linear.validate();
  return linear;
}

void check(const CommonOptions& o) {
  validate(o);
  require(o.linear == CommonOptions{}.linear, "--linear is of ffdreg; linreg takes --dof");
  require(o.start == CommonOptions{}.start,
          "--start is of ffdreg and fluidreg; linreg's is --init");
  protect_inputs(o, linear_names(o));
}

int run(int argc, char** argv) {
  LinregOptions o;
  po::variables_map found;
  if (!parse_command_line(argc, argv, "linreg", summary, example, all_options(o), found))
    return done;
  LinearOptions linear = with_config_named(found, [&] {
    check(o.common);
    return library_options(o);
  });
  const Interpolation interpolation = parse_interpolation(o.common.interpolation);
  Context ctx(Device::parse(o.common.device), o.common.threads);
  Outputs outputs(linear_names(o.common));
  Timings seconds;
  Stopwatch watch;

  Inputs inputs = read_inputs(o.common);
  for (const std::string& warning : idle_options(o.common, found))
    inputs.warnings.push_back(warning);
  linear.initial = initial_affine(o.common.init, inputs);
  warn_of_folder(o.common.output, inputs.warnings);
  warn_of_older_outputs(o.common, outputs.names, inputs.warnings);
  print_warnings("linreg", inputs.warnings, o.common);
  const RegistrationInputs sizes = inputs.sizes();
  const std::size_t predicted = predict_bytes(ctx, sizes, linear);
  require_memory(ctx, predicted, linear_writing_bytes(sizes.fixed, sizes.moving));
  DeviceInputs on_device(ctx, inputs);
  seconds.reading = watch.lap();
  stop_if_interrupted();

  Progress progress(o.common.similarity, {}, verbosity(o.common));
  progress.announce(describe(inputs) + "device " + ctx.device().name() + " (" +
                    ctx.device().description() + ")\n");
  const LinearResult result =
      register_linear(ctx, on_device.fixed, on_device.moving, linear, on_device.masks(), &progress);
  print_warnings("linreg", translated(result.warnings), o.common);
  print_warnings("linreg", said_of_rotation(linear.initial, result.affine, inputs), o.common);
  seconds.linear = watch.lap();

  on_device.restore(ctx, inputs);
  write_linear_results(ctx, outputs, inputs, on_device, result, interpolation);
  seconds.writing = watch.lap();
  if (!outputs.names.report.empty())
    write_linear_report(outputs.set.file(outputs.names.report), ctx,
                        {"linreg", found, inputs, result, seconds, predicted});
  stop_if_interrupted();
  outputs.set.commit();
  print_label_commands(o.common, outputs.names);
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("linreg", [&] { return run(argc, argv); });
}
