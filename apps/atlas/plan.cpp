#include <apps/atlas/plan.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include <apps/atlas/watch.h>
#include <apps/report.h>
#include <freeflow/io/image_file.h>

namespace freeflow::apps {

namespace {

/// Seconds of one iteration of the model on one voxel, timed on a cube that shows something and is
/// no larger than the images of so many voxels.
double seconds_per_voxel(Context& ctx, const NonrigidModel& model, double voxels) {
  constexpr int iterations = 6;
  const int side = int(std::clamp(std::cbrt(voxels), 24.0, 64.0));
  Geometry grid;
  grid.extent = {side, side, side};
  std::vector<float> fixed, moving;
  for (int z = 0; z < side; ++z)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        fixed.push_back(float(std::sin(0.3 * x) + std::cos(0.25 * y) * std::sin(0.2 * z)));
        moving.push_back(float(std::sin(0.3 * x + 0.3) + std::cos(0.25 * y) * std::sin(0.2 * z)));
      }
  const Volume<float> f(ctx, grid, fixed), m(ctx, grid, moving);
  NonrigidModel timed = model;
  std::visit(
      [&](auto& o) {
        o.levels = 1;
        o.iterations = {iterations};
      },
      timed);
  double seconds = 0;
  for (int run = 0; run < 2; ++run) {  // the first also loads what is needed
    const auto begin = std::chrono::steady_clock::now();
    register_images(ctx, f, m, {timed, {}, StartKind::none, {}});
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return seconds / iterations / double(grid.extent.count());
}

/// Iterations at full resolution that one subject still takes.
double iterations_of(const AtlasOptions& options, const KeptWork& kept) {
  constexpr double linear = 24;
  const std::vector<double> rounds = work_of_rounds(options);
  const int next =
      std::accumulate(options.rounds.begin(), options.rounds.begin() + kept.resolution, kept.round);
  return std::accumulate(rounds.begin() + next, rounds.end(), kept.affines ? 0 : linear);
}

std::string counted(std::size_t n, const std::string& one, const char* end) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : end);
}

std::string in_words(const KeptWork& kept, const AtlasOptions& options) {
  if (!kept.affines) return "";
  const bool all = kept.resolution == int(options.rounds.size());
  return "kept from before: the linear stages and " +
         counted(std::size_t(kept.rounds), "round", "s") +
         (all ? ", which is all\n" : "; the work goes on from there\n");
}

std::string memory_size(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 1e9 ? "%.0f MB" : "%.1f GB",
                bytes < 1e9 ? std::ceil(bytes / 1e6) : bytes / 1e9);
  return text;
}

struct Sizes {
  double voxels = 0;  ///< of the first channels
  double floats = 0;  ///< of all
  Geometry largest;
};

Sizes sizes_of(const std::vector<ListedSubject>& subjects) {
  Sizes sizes;
  double most = 0;
  for (const ListedSubject& s : subjects)
    for (const std::string& file : s.channels) {
      const Geometry g = read_geometry(file);
      const double count = double(g.extent.count());
      sizes.floats += count;
      if (&file == &s.channels[0]) sizes.voxels += count;
      if (count > most) most = count, sizes.largest = g;
    }
  return sizes;
}

/// Of what every round leaves in the state: the template that it made, its mask and the mean
/// deformation.
double bytes_of_rounds(const AtlasOptions& options, double voxels, std::size_t channels) {
  const int last = int(options.rounds.size()) - 1;
  const auto voxels_at = [&](int resolution) { return voxels * std::pow(8, resolution - last); };
  double bytes = 0;
  for (int r = 0; r <= last; ++r) {
    const int rounds = options.rounds[std::size_t(r)];
    const double image = 4 * (double(channels) + 1), field = 12;
    bytes += rounds * field * voxels_at(r) + (rounds - 1) * image * voxels_at(r) +
             image * voxels_at(std::min(r + 1, last));
  }
  return bytes;
}

}  // namespace

std::string plan_of(Context& ctx, const AtlasCommand& command, const AtlasOptions& options,
                    const std::vector<ListedSubject>& subjects, int processes,
                    const KeptWork& kept) {
  const Sizes sizes = sizes_of(subjects);
  const std::size_t channels = subjects[0].channels.size();
  const Geometry& grid = options.start ? options.start->geometry : sizes.largest;
  const double device = double(predict_atlas_bytes(ctx, grid, sizes.largest, options, channels,
                                                   !subjects[0].mask.empty())),
               voxels = double(grid.extent.count()), states = 6 * voxels * double(subjects.size()),
               of_all = options.start ? voxels * double(subjects.size()) : sizes.voxels,
               work = of_all * double(channels) * iterations_of(options, kept),
               seconds =
                   work > 0 ? work * seconds_per_voxel(ctx, options.model, voxels) / processes : 0;
  const int rounds = std::accumulate(options.rounds.begin(), options.rounds.end(), 0);
  const bool transforms = command.transforms || command.jacobians;
  const bool labels =
      std::ranges::any_of(subjects, [](const ListedSubject& s) { return !s.labels.empty(); });
  return counted(subjects.size(), "subject", "s") + ", the largest " + describe(sizes.largest) +
         "; " + counted(std::size_t(processes), "process", "es") +
         "\n2 linear stages, then at most " + counted(std::size_t(rounds), "round", "s") +
         "; each subject registered once in each\n" + in_words(kept, options) + "device " +
         ctx.device().name() + ": about " + memory_size(device) + "; host: about " +
         memory_size(4 * sizes.floats + states) + " in all processes; disk for going on: about " +
         memory_size(2 * states + bytes_of_rounds(options, voxels, channels)) + "\nabout " +
         std::to_string(std::lround(seconds)) + " s of computing, reading, writing" +
         (transforms ? " and the subjects' transforms" : "") + " not counted\nto be written: " +
         files_in_words(command, subjects[0].channels.size(), labels) + '\n';
}

std::string files_in_words(const AtlasCommand& command, std::size_t channels, bool labels) {
  std::string files = command.output + "template.nii.gz";
  for (std::size_t c = 1; c < channels; ++c)
    files.append(", template").append(std::to_string(c + 1)).append(".nii.gz");
  files += ", mask.nii.gz, report.json, report.html";
  if (labels) files += ", labels.nii.gz, agreement.nii.gz";
  if (labels && command.probabilities) files += ", a map of the probability per label";
  if (command.transforms) files += ", three files of transforms per subject";
  if (command.jacobians) files += ", a map of the log-Jacobian per subject";
  return files;
}

}  // namespace freeflow::apps
