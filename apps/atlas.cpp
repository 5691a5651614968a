// atlas: the template of a group.
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include <apps/atlas/atlas_report.h>
#include <apps/atlas/command.h>
#include <apps/atlas/member_transforms.h>
#include <apps/atlas/older_outputs.h>
#include <apps/atlas/plan.h>
#include <apps/atlas/probabilities.h>
#include <apps/atlas/processes.h>
#include <apps/atlas/reading.h>
#include <apps/atlas/watch.h>
#include <apps/host_memory.h>
#include <apps/images.h>
#include <apps/memory_check.h>
#include <apps/options.h>
#include <apps/output_names.h>
#include <apps/program.h>
#include <freeflow/core/cancelled.h>
#include <freeflow/core/error.h>
#include <freeflow/io/image_file.h>
#include <freeflow/io/label_file.h>
#include <freeflow/io/output_set.h>

namespace po = boost::program_options;
using namespace freeflow;
using namespace freeflow::apps;

namespace {

/// `auto` and `cuda` give every process of a machine a GPU of its own, in turns.
Device device_of(const std::string& word, int rank_on_machine) {
  const Device device = Device::parse(word);
  const int gpus = int(available_devices().size()) - 1;
  const bool chosen = word != "auto" && word != "cuda";
  return chosen || !device.is_cuda() || gpus < 1 ? device
                                                 : Device{device.kind, rank_on_machine % gpus};
}

/// As mpirun does of itself where it starts two; a process reads and writes by many threads.
bool bound_to_one_core(const Processes& processes) {
  return processes.size() > 1 && omp_get_num_procs() == 1 &&
         sysconf(_SC_NPROCESSORS_ONLN) >= 2 * processes.size();
}

std::vector<ListedSubject> share_of(const std::vector<ListedSubject>& all, const Ranks& ranks) {
  std::vector<ListedSubject> own;
  for (std::size_t i = std::size_t(ranks.rank()); i < all.size(); i += std::size_t(ranks.size()))
    own.push_back(all[i]);
  return own;
}

/// Of channels, subjects and their labels that are listed.
std::vector<std::string> output_suffixes(const AtlasCommand& command,
                                         const std::vector<ListedSubject>& subjects) {
  std::vector<std::string> suffixes = member_suffixes(command, subjects);
  for (const char* name : {"template.nii.gz", "mask.nii.gz", "report.json", "report.html"})
    suffixes.emplace_back(name);
  if (std::ranges::any_of(subjects, [](const ListedSubject& s) { return !s.labels.empty(); }))
    suffixes.insert(suffixes.end(), {"labels.nii.gz", "agreement.nii.gz"});
  for (std::size_t c = 1; c < subjects[0].channels.size(); ++c)
    suffixes.push_back("template" + std::to_string(c + 1) + ".nii.gz");
  return suffixes;
}

std::vector<ListedSubject> present_of(const AtlasResult& atlas,
                                      std::vector<ListedSubject> subjects) {
  std::erase_if(subjects, [&](const ListedSubject& s) {
    const auto member = std::ranges::find(atlas.members, s.name, &AtlasMember::name);
    return member == atlas.members.end() || !member->failure.empty();
  });
  return subjects;
}

/// Of the folder, not of the template: the report judges that.
void warn_of_older_outputs(const AtlasCommand& command, const AtlasReport& report,
                           const std::vector<ListedSubject>& subjects) {
  std::vector<std::string> written = output_suffixes(command, present_of(report.atlas, subjects));
  if (report.labels && command.probabilities)
    for (const std::string& name : probability_names(*report.labels)) written.push_back(name);
  const std::vector<std::string> older = older_outputs(command, subjects, written);
  if (!older.empty()) print_warnings("atlas", {said_of_older_outputs(older)}, command.quiet);
}

/// For programs to which NaN is no voxel.
std::vector<float> filled(Context& ctx, const Volume<float>& image) {
  std::vector<float> voxels = image.to_host(ctx);
  for (float& v : voxels) v = std::isfinite(v) ? v : 0;
  return voxels;
}

/// Where the share is less than one subject.
std::optional<std::string> said_of_trim(const AtlasReport& report) {
  const auto subjects =
      std::ranges::count_if(report.atlas.members, [](const auto& m) { return m.failure.empty(); });
  const AtlasOptions& options = report.settings;
  if (options.statistic != AtlasStatistic::trimmed || options.trim * double(subjects) >= 1)
    return std::nullopt;
  std::ostringstream share;
  share << options.trim;
  return "--statistic trimmed is the mean here: --trim " + share.str() + " of " +
         std::to_string(subjects) + " subjects leaves none out at either end; name a larger share";
}

/// On stderr now, and in the report.
void say_what_happened(AtlasReport& report, bool quiet) {
  std::vector<std::string> said = report.atlas.warnings;
  for (const AtlasMember& m : report.atlas.members)
    if (!m.failure.empty())
      said.push_back("left out: " + m.failure);
    else if (const auto turn = said_of_turn(m.affine))
      said.push_back("subject '" + m.name + "': " + *turn);
  if (const auto nothing = said_of_trim(report)) said.push_back(*nothing);
  print_warnings("atlas", said, quiet);
  report.warnings.insert(report.warnings.end(), said.begin(), said.end());
}

void write_template(Context& ctx, const OutputSet& outputs, AtlasReport& report, Stopwatch& watch) {
  const AtlasResult& atlas = report.atlas;
  const Geometry& grid = atlas.mask.geometry();
  for (std::size_t c = 0; c < atlas.channels.size(); ++c)
    write_image(outputs.file("template" + (c ? std::to_string(c + 1) : "") + ".nii.gz"), grid,
                filled(ctx, atlas.channels[c]), StoredType::float32, ctx.threads());
  write_image(outputs.file("mask.nii.gz"), grid, atlas.mask.to_host(ctx), StoredType::uint8,
              ctx.threads());
  if (report.labels) {
    write_labels(outputs.file("labels.nii.gz"), report.labels->majority, ctx.threads());
    write_image(outputs.file("agreement.nii.gz"), grid, report.labels->agreement,
                StoredType::float32, ctx.threads());
  }
  write_atlas_page(outputs.file("report.html"), ctx, report);
  report.seconds.writing = watch.lap();
  write_atlas_report(outputs.file("report.json"), ctx, report);
}

/// Those of this process, and the image to start from.
ReadSubjects read_own(const AtlasCommand& command, AtlasOptions& options,
                      const std::vector<ListedSubject>& subjects, const Ranks& ranks, int threads) {
  ReadSubjects own = read_subjects(share_of(subjects, ranks), command.keep_going, threads);
  if (ranks.rank() == 0)
    for (std::string& said : said_of_subject_sizes(subjects))
      own.warnings.push_back(std::move(said));
  if (command.start.empty()) return own;
  options.start = read_subject({"--start", {command.start}, "", ""}, own.warnings);
  options.start->channels.resize(subjects[0].channels.size(), options.start->channels[0]);
  return own;
}

/// Those that a process has read, without labels that it could not.
std::vector<ListedSubject> read_of(std::vector<ListedSubject> subjects,
                                   const std::vector<ListedSubject>& own, Ranks& ranks) {
  std::vector<std::int64_t> read(subjects.size()), with_labels(subjects.size());
  for (std::size_t i = 0; i < subjects.size(); ++i)
    if (const auto found = std::ranges::find(own, subjects[i].name, &ListedSubject::name);
        found != own.end()) {
      read[i] = 1;
      with_labels[i] = found->labels.empty() ? 0 : 1;
    }
  ranks.sum(read);
  ranks.sum(with_labels);
  std::vector<ListedSubject> there;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (!read[i]) continue;
    if (!with_labels[i]) subjects[i].labels.clear();
    there.push_back(std::move(subjects[i]));
  }
  return there;
}

/// Reads all that the work would read first, so that a file which is cut off ends it now.
int say_plan(const AtlasCommand& command, AtlasOptions options,
             const std::vector<ListedSubject>& subjects, Processes& processes) {
  Context ctx(device_of(command.device, processes.rank_on_machine()), command.threads);
  ReadSubjects own = read_own(command, options, subjects, processes, ctx.threads());
  print_warnings("atlas", own.warnings, command.quiet);
  const std::vector<ListedSubject> there = read_of(subjects, own.listed, processes);
  std::optional<StateFolder> state;
  if (std::filesystem::exists(state_folder(command)))
    state.emplace(state_folder(command), made_by(command));
  const KeptWork kept = kept_work(ctx, std::move(own.subjects), options,
                                  {&processes, state ? &*state : nullptr, nullptr});
  if (processes.rank() == 0)
    std::fputs(plan_of(ctx, command, options, there, processes.size(), kept).c_str(), stdout);
  return done;
}

int build(const AtlasCommand& command, const po::variables_map& found, AtlasOptions options,
          const std::vector<ListedSubject>& subjects, Processes& processes) {
  Context ctx(device_of(command.device, processes.rank_on_machine()), command.threads);
  keep_freed_memory(ctx);
  Watch watch(options,
              processes.rank() == 0 ? verbosity(command.verbose, command.quiet) : Verbosity::quiet);
  Stopwatch stopwatch;
  std::optional<OutputSet> outputs;
  if (processes.rank() == 0) outputs.emplace(command.output);
  ReadSubjects own = read_own(command, options, subjects, processes, ctx.threads());
  if (processes.rank() == 0 && bound_to_one_core(processes))
    own.warnings.emplace_back(
        "every process was given a single core of this machine: start them by mpirun --bind-to "
        "none, or srun --cpus-per-task N");
  print_warnings("atlas", own.warnings, command.quiet);
  StateFolder state(state_folder(command), made_by(command));
  if (processes.rank() == 0) state.remove_leftovers();
  AtlasTimings seconds{.reading = stopwatch.lap()};
  std::size_t predicted = 0;
  if (!own.subjects.empty()) {
    const AtlasSubject& largest = *std::ranges::max_element(
        own.subjects, {}, [](const AtlasSubject& s) { return s.geometry.extent.count(); });
    const Geometry& grid = options.start ? options.start->geometry : largest.geometry;
    predicted = predict_atlas_bytes(ctx, grid, largest.geometry, options, largest.channels.size(),
                                    !largest.mask.empty());
    require_memory(ctx, predicted, 6 * grid.extent.count() * own.subjects.size());
  }
  watch.announce(std::to_string(subjects.size()) + " subjects, device " + ctx.device().name() +
                 " (" + ctx.device().description() + "), about " +
                 std::to_string((predicted >> 20) + 1) + " MiB needed\n");

  const AtlasResult atlas =
      build_atlas(ctx, std::move(own.subjects), options, {&processes, &state, &watch});
  seconds.building = stopwatch.lap();
  const std::optional<TemplateLabels> labels = carry_labels(ctx, atlas, own.listed, processes);
  if (labels && command.probabilities) {
    protect_inputs(command.output, files_of(subjects), probability_names(*labels));
    write_probabilities(ctx, atlas, own.listed, *labels, processes, outputs ? &*outputs : nullptr);
  }
  seconds.labels = stopwatch.lap();
  AtlasReport report{found,        options, atlas,     labels ? &*labels : nullptr,
                     own.warnings, seconds, predicted, processes.size()};
  if (outputs) {
    say_what_happened(report, command.quiet);
    warn_of_older_outputs(command, report, subjects);
    write_template(ctx, *outputs, report, stopwatch);
    stop_if_interrupted();
    outputs->commit();
  }
  std::int64_t written = 1;  // nobody registers to a template that is not there yet
  processes.sum(std::span(&written, 1));
  if (command.transforms || command.jacobians) {
    write_member_files(ctx, command, options, atlas, present_of(atlas, own.listed), state);
    report.seconds.transforms = stopwatch.lap();
  }
  if (!outputs || command.quiet) return done;
  const std::string files =
      files_in_words(command, subjects[0].channels.size(), report.labels != nullptr);
  std::fputs(closing_words(report, files).c_str(), stderr);
  if (command.transforms)
    std::fputs(transform_commands(command, present_of(atlas, subjects).front()).c_str(), stderr);
  return done;
}

int run(int argc, char** argv, Processes& processes) {
  AtlasCommand command;
  po::variables_map found;
  if (!parse_atlas_command(argc, argv, command, found)) return done;
  const AtlasOptions options = with_config_named(found, [&] {
    refuse_idle(found, "trim", command.statistic == "trimmed",
                "add --statistic trimmed, or leave it out");
    require(!found.contains("levels") || command.levels > 0, "--levels must lie between 1 and 8");
    return atlas_options(command);
  });
  const std::vector<ListedSubject> subjects =
      list_subjects(command.images, command.masks, command.labels);
  require(
      !command.probabilities ||
          std::ranges::any_of(subjects, [](const ListedSubject& s) { return !s.labels.empty(); }),
      "--probabilities are of labels: name them with --labels, or in the column 'labels' of "
      "the table");
  std::vector<std::string> inputs = files_of(subjects);
  if (!command.start.empty()) inputs.push_back(command.start);
  protect_inputs(command.output, inputs, output_suffixes(command, subjects));
  if (command.dry_run) return say_plan(command, options, subjects, processes);
  try {
    return build(command, found, options, subjects, processes);
  } catch (const Cancelled&) {
    if (!std::filesystem::exists(state_folder(command))) throw;
    throw Interrupted{"what was done is kept, and the same command goes on from there"};
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<Processes> processes;
  const int status = run_program("atlas", [&] {
    processes = join_processes();
    return run(argc, argv, *processes);
  });
  if (status != done && processes) processes->abandon(status);
  return status;
}
