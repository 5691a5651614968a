#include <apps/registration_run.h>

#include <algorithm>
#include <cstdio>

#include <apps/closing_words.h>
#include <apps/html.h>
#include <apps/made_from.h>
#include <apps/report_page/draw.h>
#include <apps/report_page/finished_run.h>
#include <apps/report_page/page.h>
#include <apps/report_parts.h>
#include <apps/stripped_images.h>

namespace freeflow::apps {

bool RegistrationRun::made_already() {
  end_killed_runs(names_.prefix);  // what is done may lie where nothing can be written
  made_from_ = made_from(program_, common_);
  const auto report = report_of_finished(names_, made_from_);
  if (report) keep_verdict(*report);
  return report.has_value();
}

void RegistrationRun::keep_verdict(const nlohmann::ordered_json& report) {
  if (const auto summary = report.find("summary"); summary != report.end())
    verdict_ = {summary->value("grade", ""), summary->value("verdict", "")};
}

void RegistrationRun::read() {
  watch_.lap();
  outputs_.emplace(names_);
  inputs_ = read_inputs(common_, kept_);
  for (const std::string& warning : idle_options(common_, program_.found))
    inputs_.warnings.push_back(warning);
  take_start();
  // Of the folder, not of the registration: the report judges that.
  std::vector<std::string> of_places;
  warn_of_folder(common_.output, of_places);
  warn_of_older_outputs(common_, names_, of_places);
  print_warnings(program_.label, of_places, common_);
  seconds_.reading = watch_.lap();
  stop_if_interrupted();
}

void RegistrationRun::look_for_stripped(Context& ctx, const std::function<void()>& check_memory) {
  watch_.lap();
  try {
    // The centres of mass are of what counts.
    if (leave_stripped_out(ctx, common_, inputs_) && common_.init[0] == "moments") take_start();
  } catch (const DeviceError&) {
    check_memory();
    throw;
  }
  seconds_.stripped = watch_.lap();
}

ResultFiles& RegistrationRun::start_writing(const Context& ctx) {
  return files_.emplace(
      *outputs_, Compression(ctx.threads(), std::max(common_.compress, Compression::fastest)),
      common_.field_factor);
}

ReportedRun RegistrationRun::reported(Context& ctx, const Registered& registered,
                                      std::size_t predicted_bytes) {
  std::vector<float> of_fixed, of_moving;
  const Similarities found = similarities(
      ctx, registered.fixed, registered.moving, registered.affine, registered.displacement,
      {counted(inputs_.fixed.front(), inputs_.fixed_mask, of_fixed),
       counted(inputs_.moving.front(), inputs_.moving_mask, of_moving)});
  if (!names_.page.empty())
    pictures_ = draw_registration(ctx, registered, inputs_.fixed.front(), inputs_.moving.front());
  return {program_.name, program_.found, common_,         names_,
          inputs_,       seconds_,       predicted_bytes, found};
}

std::function<void()> RegistrationRun::ending(const nlohmann::ordered_json& report) {
  return [this, report = report]() mutable { finish(report); };
}

void RegistrationRun::finish(nlohmann::ordered_json& report) {
  files_->finish();
  report["seconds"]["writing"] = watch_.lap();
  if (pictures_)
    write_page(outputs_->set.file(names_.page),
               registration_page(name_of_report(names_.prefix + names_.page), report, *pictures_));
  if (!made_from_.is_null()) keep_origin(report, made_from_, *outputs_);
  iterations_last(report);
  if (!names_.report.empty()) write_json(outputs_->set.file(names_.report), report);
  stop_if_interrupted();
  outputs_->set.commit();
  keep_verdict(report);
  // Of a cohort the summary speaks.
  if (!kept_ && !common_.quiet)
    std::fputs(closing_words(program_.name, report, names_).c_str(), stderr);
}

}  // namespace freeflow::apps
