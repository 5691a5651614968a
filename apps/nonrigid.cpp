#include <apps/nonrigid.h>

#include <apps/device_images.h>
#include <apps/memory_check.h>
#include <apps/output_names.h>
#include <apps/program.h>
#include <apps/progress.h>
#include <apps/registration_run.h>
#include <apps/run_pairs.h>

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

const char* name_of(const FfdOptions&) { return "ffd"; }
const char* name_of(const FlowOptions&) { return "flow"; }
const char* name_of(const FluidOptions&) { return "fluid"; }
const char* name_of(const DemonsOptions&) { return "demons"; }
/// What the stage is called.
std::string name_of(const NonrigidModel& model) {
  return std::visit([](const auto& options) { return std::string(name_of(options)); }, model);
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

std::string nonrigid_example(const std::string& program) {
  return "Example: bring s02.nii.gz onto s01.nii.gz and carry its labels along:\n"
         "  " +
         program +
         " -f s01.nii.gz -m s02.nii.gz -o out/s02_to_s01_\n"
         "  regtool apply -i s02_labels.nii.gz -r s01.nii.gz --interpolation labels \\\n"
         "    -o labels.nii.gz -t out/s02_to_s01_1Warp.nii.gz \\\n"
         "    -t out/s02_to_s01_0GenericAffine.mat\n"
         "antsApplyTransforms takes the same files in the same order.\n"
         "Written: PREFIX0GenericAffine.mat, PREFIX1Warp.nii.gz, PREFIX1InverseWarp.nii.gz, "
         "PREFIXWarped.nii.gz, PREFIXInverseWarped.nii.gz and PREFIXreport.json; of further "
         "channels PREFIXWarped2.nii.gz and so on.\n"
         "With --bids T1w:MNI152NLin2009cAsym -o out/sub-01: "
         "out/sub-01_from-T1w_to-MNI152NLin2009cAsym_mode-image_xfm.h5, the same back, the report "
         "beside it as .json, and "
         "out/sub-01_space-MNI152NLin2009cAsym_desc-warped_T1w.nii.gz.\n"
         "Exit status: 0 done, 1 the work failed, 2 the call or an input is unusable, 130 "
         "interrupted.\n";
}

namespace {

std::string measure_of_linear_stage(const CommonOptions& common) {
  const bool other = linear_choice(similarity_choice(common)).is(SimilarityKind::nmi);
  return other ? "nmi" : common.similarity;
}

/// Writes the displacement while it is inverted.
class SavingProgress : public Progress {
 public:
  SavingProgress(const NonrigidModel& model, const Geometry& fixed, const CommonOptions& common,
                 ResultFiles& files, Verbosity verbosity)
      : Progress(name_of(model), common.similarity, measure_of_linear_stage(common),
                 work_per_level(fixed, model), verbosity),
        files_(files) {}
  void on_displacement(Context& ctx, const DisplacementField& displacement) override {
    write_displacement_of(ctx, files_, displacement);
  }

 private:
  ResultFiles& files_;
};

class NonrigidRun : public RegistrationRun {
 public:
  NonrigidRun(const Program& program, const CommonOptions& common, const NonrigidModel& model,
              KeptImages* kept)
      : RegistrationRun(program, common, nonrigid_names(common), kept),
        options_{model,
                 parse_linear_model(common.linear),
                 *parse_start(common.start),
                 {},
                 !program.found["levels"].defaulted()} {}

  std::function<void()> compute(Context& ctx, bool beside_others) override;

 private:
  void take_start() override;
  void announce(Context& ctx, const Progress& progress);
  void predict_memory(Context& ctx);
  void check_memory(Context& ctx);

  RegistrationOptions options_;
  FileTransform start_;
  RegistrationInputs sizes_;
  std::size_t predicted_ = 0;
};

void NonrigidRun::take_start() {
  start_ = initial_transform(common_.init, inputs_);
  levels_of(options_.model).initial = start_.affine;
  if (!start_.displacement) return;
  require(common_.linear == "none" || program_.found["linear"].defaulted(),
          "--linear " + common_.linear +
              " cannot follow the displacement that --init gives; leave it out");
  const DisplacementField some;
  levels_of(options_.model).initial_displacement = &some;
  options_.validate();
  levels_of(options_.model).initial_displacement = nullptr;
  if (common_.linear != "none")
    inputs_.warnings.push_back("--init gives a displacement, so there is no linear stage");
}

void NonrigidRun::announce(Context& ctx, const Progress& progress) {
  progress.announce(describe(inputs_) + "device " + ctx.device().name() + " (" +
                    ctx.device().description() + "), about " +
                    std::to_string((predicted_ >> 20) + 1) + " MiB needed\n");
}

void NonrigidRun::predict_memory(Context& ctx) {
  sizes_ = inputs_.sizes();
  if (start_.displacement) sizes_.initial_displacement = start_.displacement->geometry;
  predicted_ = predict_bytes(ctx, sizes_, options_);
}

void NonrigidRun::check_memory(Context& ctx) {
  require_memory(
      ctx, predicted_,
      nonrigid_writing_bytes(sizes_.fixed, sizes_.moving, outputs_->names.affine.empty()));
}

std::function<void()> NonrigidRun::compute(Context& ctx, bool beside_others) {
  look_for_stripped(ctx, [&] {
    predict_memory(ctx);
    check_memory(ctx);
  });
  print_warnings(program_.label, inputs_.warnings, common_);
  ctx.reset_peak();
  ResultFiles& files = start_writing(ctx);
  DisplacementField initial_displacement;
  if (start_.displacement) levels_of(options_.model).initial_displacement = &initial_displacement;
  predict_memory(ctx);
  DeviceImages images(ctx, kept_, common_, inputs_, [&] { check_memory(ctx); });
  if (start_.displacement) {
    initial_displacement =
        DisplacementField(ctx, start_.displacement->geometry, start_.displacement->planes);
    start_.displacement.reset();
  }
  seconds_.reading += watch_.lap();

  SavingProgress progress(options_.model, inputs_.fixed_image().geometry, common_, files,
                          beside_others ? Verbosity::quiet : verbosity(common_));
  announce(ctx, progress);
  const RegistrationResult result = register_images(
      ctx, images.fixed().prepared(), images.moving().prepared(), options_, &progress);
  progress.end_line();
  if (result.linear) {
    print_warnings(program_.label, result.linear->warnings, common_);
    print_warnings(program_.label, said_of_rotation(start_.affine, result.linear->affine, inputs_),
                   common_);
  }
  print_warnings(program_.label, result.warnings, common_);
  seconds_.linear = result.linear ? result.linear->seconds : 0;
  seconds_.nonrigid = result.nonrigid_seconds;
  seconds_.inverting = result.inverse_seconds;
  watch_.lap();

  const auto fixed = images.fixed().as_they_came(ctx, inputs_.fixed),
             moving = images.moving().as_they_came(ctx, inputs_.moving);
  images.free_levels();
  write_results(ctx, files, {fixed, moving, inputs_, parse_interpolation(common_.interpolation)},
                result);
  watch_.lap();
  const DisplacementRange range = displacement_range(ctx, result.displacement);
  ReportedRun run = reported(
      ctx, {fixed.front(), moving.front(), result.affine, &result.displacement}, predicted_);
  run.seconds.report = watch_.lap();
  return ending(report_of(ctx, run, result, range));
}

}  // namespace

int run_nonrigid(const std::string& program, const std::vector<CommonOptions>& pairs,
                 const boost::program_options::variables_map& found, const NonrigidModel& model) {
  return run_pairs(program, pairs, found, nonrigid_names,
                   [&](const Program& of_pair, const CommonOptions& pair, KeptImages* kept) {
                     return std::make_unique<NonrigidRun>(of_pair, pair, model, kept);
                   });
}

}  // namespace freeflow::apps
