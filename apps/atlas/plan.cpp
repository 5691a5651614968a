#include <apps/atlas/plan.h>

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

/// Seconds of one iteration of the model on one voxel, timed on a cube that shows something.
double seconds_per_voxel(Context& ctx, const NonrigidModel& model) {
  constexpr int side = 64, iterations = 6;
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

/// Iterations at full resolution that one subject takes.
double iterations_of(const AtlasOptions& options) {
  constexpr double linear = 24;
  const std::vector<double> rounds = work_of_rounds(options);
  return std::accumulate(rounds.begin(), rounds.end(), linear);
}

}  // namespace

std::string plan_of(Context& ctx, const AtlasCommand& command, const AtlasOptions& options,
                    const std::vector<ListedSubject>& subjects, int processes) {
  double voxels = 0, largest = 0, floats = 0;
  Geometry grid;
  for (const ListedSubject& s : subjects)
    for (const std::string& file : s.channels) {
      const Geometry g = read_geometry(file);
      const double count = double(g.extent.count());
      floats += count;
      if (&file == &s.channels[0]) voxels += count;
      if (count > largest) largest = count, grid = g;
    }
  const std::size_t channels = subjects[0].channels.size();
  const double device = double(predict_atlas_bytes(ctx, grid, grid, options, channels,
                                                   !subjects[0].mask.empty())),
               n = double(subjects.size()), states = 6 * largest * n,
               seconds = voxels * iterations_of(options) * seconds_per_voxel(ctx, options.model) *
                         double(channels) / processes;
  int rounds = 0;
  for (const int r : options.rounds) rounds += r;
  char text[800];
  std::snprintf(
      text, sizeof text,
      "%zu subjects, the largest %s; %d processes\n"
      "2 linear stages, then at most %d rounds; %s\n"
      "device %s: about %.1f GB; host: about %.1f GB in all processes; disk for going on: "
      "about %.1f GB\n"
      "about %.0f s of computing, reading and writing not counted\n"
      "written: %stemplate.nii.gz, mask.nii.gz, report.json, report.html%s%s%s%s\n",
      subjects.size(), describe(grid).c_str(), processes, rounds,
      "each subject registered once in each", ctx.device().name().c_str(), device / 1e9,
      (4 * floats + states) / 1e9, 2 * states / 1e9, seconds, command.output.c_str(),
      subjects[0].labels.empty() ? "" : ", labels.nii.gz, agreement.nii.gz",
      command.probabilities ? ", a map of the probability per label" : "",
      command.transforms ? ", and three files of transforms per subject" : "",
      command.jacobians ? ", and a map of the log-Jacobian per subject" : "");
  return text;
}

}  // namespace freeflow::apps
