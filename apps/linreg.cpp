// linreg: rigid to affine registration.
#include <cstdio>

#include <apps/device_images.h>
#include <apps/memory_check.h>
#include <apps/options.h>
#include <apps/output_names.h>
#include <apps/program.h>
#include <apps/progress.h>
#include <apps/registration_run.h>
#include <apps/run_pairs.h>
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
    "  regtool apply -i labels.nii.gz -r template.nii.gz --interpolation labels \\\n"
    "    -o there.nii.gz -t out/head_to_template_0GenericAffine.mat\n"
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
  require(o.linear == CommonOptions{}.linear, "--linear is of ffdreg; linreg takes --dof");
  require(!parse_outputs(o.outputs).lattice, lattice_is_of_ffdreg);
  require(o.field_factor == 1, "--field-factor is of ffdreg and fluidreg: linreg writes no field");
  require(o.start == CommonOptions{}.start,
          "--start is of ffdreg and fluidreg; linreg's is --init");
}

class LinearRun : public RegistrationRun {
 public:
  LinearRun(const Program& program, const CommonOptions& common, const LinearOptions& options,
            KeptImages* kept)
      : RegistrationRun(program, common, linear_names(common), kept), options_(options) {
    const OutputChoice asked = parse_outputs(common.outputs);
    const bool all = asked.warp && asked.inverse && asked.warped && asked.inverse_warped;
    if (common.bids.empty() && (asked.warp || asked.inverse) && !all)
      print_warnings(
          program.label,
          {"--outputs warp and inverse are fields, and linreg writes none; the affine is "
           "written in any case"},
          common);
  }

  std::function<void()> compute(Context& ctx, bool beside_others) override;

 private:
  void take_start() override { options_.initial = initial_affine(common_.init, inputs_); }

  LinearOptions options_;
};

std::function<void()> LinearRun::compute(Context& ctx, bool beside_others) {
  std::size_t predicted = 0;
  const auto predict = [&] { predicted = predict_bytes(ctx, inputs_.sizes(), options_); };
  const auto check_memory = [&] {
    const RegistrationInputs sizes = inputs_.sizes();
    require_memory(ctx, predicted, linear_writing_bytes(sizes.fixed, sizes.moving));
  };
  look_for_stripped(ctx, [&] {
    predict();
    check_memory();
  });
  print_warnings(program_.label, inputs_.warnings, common_);
  ctx.reset_peak();
  ResultFiles& files = start_writing(ctx);
  predict();
  DeviceImages images(ctx, kept_, common_, inputs_, check_memory);
  seconds_.reading += watch_.lap();

  Progress progress("linear", common_.similarity, common_.similarity, {},
                    beside_others ? Verbosity::quiet : verbosity(common_));
  progress.announce(describe(inputs_) + "device " + ctx.device().name() + " (" +
                    ctx.device().description() + ")\n");
  const LinearResult result = register_linear(ctx, images.fixed().prepared(),
                                              images.moving().prepared(), options_, &progress);
  progress.end_line();
  print_warnings(program_.label, result.warnings, common_);
  print_warnings(program_.label, said_of_rotation(options_.initial, result.affine, inputs_),
                 common_);
  seconds_.linear = watch_.lap();

  const auto fixed = images.fixed().as_they_came(ctx, inputs_.fixed),
             moving = images.moving().as_they_came(ctx, inputs_.moving);
  images.free_levels();
  write_linear_results(
      ctx, files, {fixed, moving, inputs_, parse_interpolation(common_.interpolation)}, result);
  watch_.lap();
  ReportedRun run = reported(ctx, {fixed.front(), moving.front(), result.affine}, predicted);
  run.seconds.report = watch_.lap();
  return ending(report_of(ctx, run, result));
}

int run(int argc, char** argv) {
  LinregOptions o;
  po::variables_map found;
  if (!parse_command_line(
          argc, argv, "linreg",
          {summary, example, everyday_options({"dof"}), {"linear", "start", "field-factor"}},
          all_options(o), found))
    return done;
  std::vector<CommonOptions> pairs;
  const LinearOptions linear = with_config_named(found, [&] {
    check(o.common);
    pairs = checked_pairs(o.common, linear_names);
    const LinearOptions options = library_options(o);
    refuse_idle(found, "powell-resolution", o.search == "powell" || o.search == "flirt",
                "add --search powell or flirt, or leave it out");
    return options;
  });
  return run_pairs("linreg", pairs, found, linear_names,
                   [&](const Program& program, const CommonOptions& pair, KeptImages* kept) {
                     return std::make_unique<LinearRun>(program, pair, linear, kept);
                   });
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("linreg", [&] { return run(argc, argv); });
}
