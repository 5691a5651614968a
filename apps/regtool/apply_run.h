// The work of one call of regtool apply, or of one row of its --pairs.
#pragma once

#include <boost/program_options.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <apps/file_writer.h>
#include <apps/pair_run.h>
#include <apps/regtool/commands.h>
#include <apps/regtool/series_resampler.h>
#include <freeflow/core/geometry.h>
#include <freeflow/io/output_set.h>

namespace freeflow::apps {

struct ApplyOptions {
  std::vector<std::string> inputs, outputs, transforms;
  std::string reference, type, fill = "0";
  std::string pairs, summary;  ///< tables, or empty
  int jobs = 0;
  ResampleOptions resample;
  bool bids = false;
  RunOptions run;
};

/// What a table's output has beside it, its name with this behind it: of what it was made.
inline constexpr const char* record_suffix = ".made.json";

/// All files that the options name to be read.
std::vector<std::string> input_files(const ApplyOptions& o);

class ApplyRun : public PairRun {
 public:
  /// `label` begins warnings. With `found`, all options, a record beside the output says of what it
  /// was made, for made_already(). Both options must outlive this.
  ApplyRun(std::string label, const ApplyOptions& o,
           const boost::program_options::variables_map* found);

  /// The device that "auto" stands for: a GPU takes a quarter of a second to start, in which a core
  /// resamples some ten million voxels. Both give the same bits. Reads headers.
  std::string device();

  ~ApplyRun() override;
  bool made_already() override;
  void read() override;
  std::function<void()> compute(Context& ctx, bool beside_others) override;

 private:
  void open();
  void finish();
  void check_other_inputs();
  std::string record() const;

  const std::string label_;
  const ApplyOptions& o_;
  const boost::program_options::variables_map* const found_;  // or null
  std::string made_from_;                                     // JSON
  std::vector<std::unique_ptr<OutputSet>> outputs_;           // one for each input
  std::vector<std::string> warnings_;
  Geometry grid_;
  std::unique_ptr<SeriesReader> reader_;  // of the first input
  HostChain chain_;
  FileWriter files_{1};  // after what it refers to
};

}  // namespace freeflow::apps
