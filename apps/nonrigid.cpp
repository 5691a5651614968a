#include <apps/nonrigid.h>

#include <apps/device_images.h>
#include <apps/field_names.h>
#include <apps/memory_check.h>
#include <apps/output_names.h>
#include <apps/pair_run.h>
#include <apps/program.h>
#include <apps/progress.h>
#include <apps/report.h>
#include <apps/report_parts.h>
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

namespace {

/// Writes the displacement while it is inverted.
class SavingProgress : public Progress {
 public:
  SavingProgress(Progress progress, ResultFiles& files)
      : Progress(std::move(progress)), files_(files) {}
  void on_displacement(Context& ctx, const DisplacementField& displacement) override {
    write_displacement_of(ctx, files_, displacement);
  }

 private:
  ResultFiles& files_;
};

class NonrigidRun : public PairRun {
 public:
  NonrigidRun(const Program& program, const CommonOptions& common, const NonrigidModel& model,
              KeptImages* kept)
      : program_(program), common_(common),
        kept_(kept), options_{model, parse_linear_model(common.linear),
                              *parse_start(common.start)} {}

  void read() override;
  std::function<void()> compute(Context& ctx) override;

 private:
  void take_start();
  void announce(Context& ctx, const Progress& progress);
  void check_memory(Context& ctx);
  void finish(nlohmann::ordered_json& report);

  const Program program_;
  const CommonOptions common_;
  KeptImages* const kept_;  // or null
  RegistrationOptions options_;
  Inputs inputs_;
  FileTransform start_;
  RegistrationInputs sizes_;
  std::size_t predicted_ = 0;
  Timings seconds_;
  Stopwatch watch_;
  std::optional<Outputs> outputs_;
  std::optional<ResultFiles> files_;  // after what they refer to
};

void NonrigidRun::read() {
  watch_.lap();
  outputs_.emplace(nonrigid_names(common_));
  files_.emplace(*outputs_, compression_of(common_));
  inputs_ = read_inputs(common_, kept_);
  for (const std::string& warning : idle_options(common_, program_.found))
    inputs_.warnings.push_back(warning);
  take_start();
  warn_of_folder(common_.output, inputs_.warnings);
  warn_of_older_outputs(common_, outputs_->names, inputs_.warnings);
  seconds_.reading = watch_.lap();
  stop_if_interrupted();
}

void NonrigidRun::take_start() {
  start_ = initial_transform(common_.init, inputs_);
  levels_of(options_.model).initial = start_.affine;
  sizes_ = inputs_.sizes();
  if (!start_.displacement) return;
  require(common_.linear == "none" || program_.found["linear"].defaulted(),
          "--linear " + common_.linear +
              " cannot follow the displacement that --init gives; leave it out");
  sizes_.initial_displacement = start_.displacement->geometry;
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

void NonrigidRun::check_memory(Context& ctx) {
  require_memory(
      ctx, predicted_,
      nonrigid_writing_bytes(sizes_.fixed, sizes_.moving, outputs_->names.affine.empty()));
}

std::function<void()> NonrigidRun::compute(Context& ctx) {
  watch_.lap();
  print_warnings(program_.label, inputs_.warnings, common_);
  ctx.reset_peak();
  DisplacementField initial_displacement;
  if (start_.displacement) levels_of(options_.model).initial_displacement = &initial_displacement;
  predicted_ = predict_bytes(ctx, sizes_, options_);
  DeviceImages images(ctx, kept_, common_, inputs_, [&] { check_memory(ctx); });
  if (start_.displacement) {
    initial_displacement =
        DisplacementField(ctx, start_.displacement->geometry, start_.displacement->planes);
    start_.displacement.reset();
  }
  seconds_.reading += watch_.lap();

  SavingProgress progress(
      {common_.similarity, work_per_level(inputs_.fixed_image().geometry, options_.model),
       verbosity(common_)},
      *files_);
  announce(ctx, progress);
  const RegistrationResult result = register_images(
      ctx, images.fixed().prepared(), images.moving().prepared(), options_, &progress);
  images.free_levels();
  if (result.linear) {
    print_warnings(program_.label, translated(result.linear->warnings), common_);
    print_warnings(program_.label, said_of_rotation(start_.affine, result.linear->affine, inputs_),
                   common_);
  }
  print_warnings(program_.label, translated(result.warnings), common_);
  seconds_.linear = result.linear ? result.linear->seconds : 0;
  seconds_.nonrigid = result.nonrigid_seconds;
  seconds_.inverting = result.inverse_seconds;
  watch_.lap();

  const auto fixed = images.fixed().as_they_came(ctx, inputs_.fixed),
             moving = images.moving().as_they_came(ctx, inputs_.moving);
  write_results(ctx, *files_, {fixed, moving, inputs_, parse_interpolation(common_.interpolation)},
                result);
  return [this, report = report_of(ctx, {program_.name, program_.found, inputs_, result, seconds_,
                                         predicted_})]() mutable { finish(report); };
}

void NonrigidRun::finish(nlohmann::ordered_json& report) {
  files_->finish();
  report["seconds"]["writing"] = watch_.lap();
  const std::string& name = outputs_->names.report;
  if (!name.empty()) write_json(outputs_->set.file(name), report);
  stop_if_interrupted();
  outputs_->set.commit();
}

}  // namespace

int run_nonrigid(const std::string& program, const CommonOptions& common,
                 const boost::program_options::variables_map& found, const NonrigidModel& model) {
  NonrigidRun run({program, program, found}, common, model, nullptr);
  run_alone(run, common.device, common.threads);
  print_label_commands(common, nonrigid_names(common));
  return done;
}

}  // namespace freeflow::apps
