// What the runs of ffdreg, fluidreg and linreg have in common: their files, their report.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include <apps/kept_images.h>
#include <apps/options.h>
#include <apps/output_names.h>
#include <apps/pair_run.h>
#include <apps/program.h>
#include <apps/report.h>
#include <apps/report_page/pictures.h>
#include <apps/results.h>

namespace freeflow::apps {

class RegistrationRun : public PairRun {
 public:
  bool made_already() override;
  void read() override;
  PairVerdict verdict() const override { return verdict_; }

 protected:
  /// `kept` may be null; what it points to must outlive this.
  RegistrationRun(const Program& program, const CommonOptions& common, const OutputNames& names,
                  KeptImages* kept)
      : program_(program), common_(common), names_(names), kept_(kept) {}

  /// Looks at --init, once the images are read.
  virtual void take_start() = 0;
  /// At the start of compute(): an object that one image alone shows counts without its background.
  /// Where the device is out of memory check_memory may throw a better sentence.
  void look_for_stripped(Context& ctx, const std::function<void()>& check_memory);
  /// What a report is of, with its page's pictures where there is one; at the end of compute().
  /// Figures that the registration itself did not need are worked out here.
  ReportedRun reported(Context& ctx, const Registered& registered, std::size_t predicted_bytes);
  /// Files that the context's threads compress; for compute().
  ResultFiles& start_writing(const Context& ctx);
  /// What compute() returns: ends the writing with this report.
  std::function<void()> ending(const nlohmann::ordered_json& report);

  const Program program_;
  const CommonOptions common_;
  const OutputNames names_;
  KeptImages* const kept_;
  Inputs inputs_;
  Timings seconds_;
  Stopwatch watch_;
  std::optional<Outputs> outputs_;
  std::optional<ResultFiles> files_;  // after what it refers to

 private:
  void finish(nlohmann::ordered_json& report);

  void keep_verdict(const nlohmann::ordered_json& report);

  std::optional<PagePictures> pictures_;
  PairVerdict verdict_;
  nlohmann::ordered_json made_from_;  // of a cohort's pair
};

}  // namespace freeflow::apps
