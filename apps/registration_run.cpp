#include <apps/registration_run.h>

#include <algorithm>

#include <apps/made_from.h>
#include <apps/report_parts.h>

namespace freeflow::apps {

bool RegistrationRun::made_already() {
  const OutputSet ends_what_a_killed_run_began(names_.prefix);
  made_from_ = made_from(program_, common_);
  return apps::made_already(names_, made_from_);
}

void RegistrationRun::read() {
  watch_.lap();
  outputs_.emplace(names_);
  inputs_ = read_inputs(common_, kept_);
  for (const std::string& warning : idle_options(common_, program_.found))
    inputs_.warnings.push_back(warning);
  take_start();
  warn_of_folder(common_.output, inputs_.warnings);
  warn_of_older_outputs(common_, names_, inputs_.warnings);
  seconds_.reading = watch_.lap();
  stop_if_interrupted();
}

ResultFiles& RegistrationRun::start_writing(const Context& ctx) {
  return files_.emplace(
      *outputs_, Compression(ctx.threads(), std::max(common_.compress, Compression::fastest)));
}

std::function<void()> RegistrationRun::ending(const nlohmann::ordered_json& report) {
  return [this, report = report]() mutable { finish(report); };
}

void RegistrationRun::finish(nlohmann::ordered_json& report) {
  files_->finish();
  report["seconds"]["writing"] = watch_.lap();
  if (!made_from_.is_null()) keep_origin(report, made_from_, *outputs_);
  if (!names_.report.empty()) write_json(outputs_->set.file(names_.report), report);
  stop_if_interrupted();
  outputs_->set.commit();
}

}  // namespace freeflow::apps
