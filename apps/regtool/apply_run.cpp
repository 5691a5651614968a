#include <apps/regtool/apply_run.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <variant>

#include <apps/options.h>
#include <apps/program.h>
#include <apps/regtool/chain_memory.h>
#include <apps/report_parts.h>
#include <freeflow/io/content_hash.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/transforms/transform_formats.h>

namespace freeflow::apps {

using nlohmann::ordered_json;

namespace {

ordered_json record_of(const std::string& made_from, const std::string& output) {
  return {{"made_from", ordered_json::parse(made_from)}, {"content", content_hash(output)}};
}

/// ITK's own mean the same whatever the images.
bool is_foreign(const std::string& listed) {
  return detect(listed_transform(listed).path) != TransformFormat::itk;
}

bool same_step(const std::variant<Eigen::Affine3d, HostField>& a,
               const std::variant<Eigen::Affine3d, HostField>& b) {
  if (a.index() != b.index()) return false;
  if (const auto* affine = std::get_if<Eigen::Affine3d>(&a))
    return affine->matrix() == std::get<Eigen::Affine3d>(b).matrix();
  return std::get<HostField>(a).planes == std::get<HostField>(b).planes;
}

bool same_steps(const HostChain& a, const HostChain& b) {
  return std::ranges::equal(a.transforms, b.transforms,
                            [](const HostTransform& one, const HostTransform& other) {
                              return std::ranges::equal(one.steps, other.steps, same_step);
                            });
}

}  // namespace

std::vector<std::string> input_files(const ApplyOptions& o) {
  std::vector<std::string> files = o.inputs;
  files.push_back(o.reference);
  const std::vector<std::string> transforms = transform_files(o.transforms);
  files.insert(files.end(), transforms.begin(), transforms.end());
  return files;
}

ApplyRun::ApplyRun(std::string label, const ApplyOptions& o,
                   const boost::program_options::variables_map* found)
    : label_(std::move(label)), o_(o), found_(found) {}

std::string ApplyRun::record() const {
  const ordered_json all = options_json(*found_);
  ordered_json from{{"program", "regtool apply"}, {"version", FREEFLOW_VERSION}};
  for (const char* option : {"interpolation", "type", "fill"})
    if (all.contains(option)) from["options"][option] = all[option];
  from["input"] = content_hash(o_.inputs.front());
  from["reference"] = content_hash(o_.reference);
  for (const std::string& listed : o_.transforms) {
    const std::string file = listed_transform(listed).path;
    from["transforms"].push_back((file == listed ? "" : "inverse of ") + content_hash(file));
  }
  return from.dump();
}

bool ApplyRun::made_already() {
  const std::string& output = o_.outputs.front();
  end_killed_runs(output);
  made_from_ = record();
  try {
    std::ifstream file(output + record_suffix);
    return ordered_json::parse(file) == record_of(made_from_, output);
  } catch (const std::exception&) {
    return false;  // no record, or the output is gone
  }
}

ApplyRun::~ApplyRun() {
  files_ = FileWriter(1);                         // waits for what is being written
  while (!outputs_.empty()) outputs_.pop_back();  // the first has made the folder, and removes it
}

void ApplyRun::open() {
  if (reader_) return;
  for (const std::string& output : o_.outputs)
    outputs_.push_back(std::make_unique<OutputSet>(output));
  grid_ = read_geometry(o_.reference, warnings_);
  reader_ = std::make_unique<SeriesReader>(o_.inputs.front());
}

std::string ApplyRun::device() {
  if (o_.run.device != "auto") return o_.run.device;
  open();
  constexpr double voxels_of_a_core = 1e7;
  const double voxels =
      double(grid_.extent.count()) * reader_->layout().planes() * double(o_.inputs.size());
  const double cost = o_.resample.interpolation == "cubic" ? 8 : 1;
  const double cores = o_.run.threads > 0 ? o_.run.threads : std::thread::hardware_concurrency();
  return cost * voxels < cores * voxels_of_a_core ? "cpu" : "auto";
}

void ApplyRun::read() {
  open();
  chain_ =
      read_chain(o_.transforms, {grid_, reader_->layout().geometry, o_.inputs.front()}, warnings_);
  check_other_inputs();
  reader_->prefetch();
}

/// On grids of their own: whether anything of them is reached, and what the transforms mean there:
/// FSL's and others count from a corner of the moving image.
void ApplyRun::check_other_inputs() {
  const Geometry& first = reader_->layout().geometry;
  const bool foreign = std::ranges::any_of(o_.transforms, is_foreign);
  for (std::size_t i = 1; i < o_.inputs.size(); ++i) {
    std::vector<std::string> unsaid;
    const Geometry grid = read_geometry(o_.inputs[i], unsaid);
    if (same_grid(grid, first)) continue;
    warn_of_nothing_reached(chain_, grid, o_.inputs[i], warnings_);
    if (!foreign) continue;
    const HostChain chain = read_chain(o_.transforms, {grid_, grid, o_.inputs[i]}, unsaid);
    require(same_steps(chain, chain_),
            "the transforms are of a format that counts from a corner of the moving image, and '" +
                o_.inputs[i] + "' lies on another grid than '" + o_.inputs.front() +
                "'; apply them to one image at a time");
  }
}

std::function<void()> ApplyRun::compute(Context& ctx, bool) {
  require_chain_memory(ctx, chain_, "resampling", sizeof(float) * grid_.extent.count(),
                       [&](Context& rehearsal, const Transform& transform) {
                         SeriesResampler(rehearsal, o_.resample, transform, grid_, files_)
                             .rehearse(reader_->layout());
                       });
  const Transform chain = to_transform(ctx, chain_, warnings_);
  warn_of_reference_beyond(chain, {grid_, reader_->layout().geometry, {}}, chain_.reached,
                           warnings_);
  SeriesResampler resampler(ctx, o_.resample, chain, grid_, files_);
  for (std::size_t i = 0; i < o_.inputs.size(); ++i) {
    if (i > 0) reader_ = std::make_unique<SeriesReader>(o_.inputs[i]);
    resampler.run(*reader_, o_.inputs[i], outputs_[i]->file(""), warnings_);
  }
  print_warnings(label_, warnings_, o_.run.quiet);
  return [this] { finish(); };
}

void ApplyRun::finish() {
  files_.finish();
  if (!made_from_.empty())
    write_json(outputs_.front()->file(record_suffix),
               record_of(made_from_, outputs_.front()->file("")));
  for (const auto& output : outputs_) output->place();
  for (const auto& output : outputs_) output->keep();
}

}  // namespace freeflow::apps
