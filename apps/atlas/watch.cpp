#include <apps/atlas/watch.h>

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <apps/html.h>
#include <apps/program.h>

namespace freeflow::apps {

namespace {

constexpr double linear_work = 12;  // of a linear registration, in iterations at full resolution

std::vector<double> work_of_steps(const AtlasOptions& options) {
  std::vector<double> work = work_of_rounds(options);
  work.insert(work.begin(), 2, linear_work);
  return work;
}

}  // namespace

std::vector<double> work_of_rounds(const AtlasOptions& options) {
  std::vector<double> work;
  const int resolutions = int(options.rounds.size());
  std::visit(
      [&](const auto& model) {
        for (int r = 0; r < resolutions; ++r) {
          const int finest = model.levels - (resolutions - r);
          for (int round = 0; round < options.rounds[std::size_t(r)]; ++round) {
            const bool first = r == 0 && round == 0;
            double sum = 1;  // the average
            for (int l = first ? 0 : finest; l <= finest; ++l) {
              const int iterations = model.iterations_of_level(l);
              sum += (first ? iterations : iterations_going_on(iterations)) *
                     std::pow(8.0, l - (model.levels - 1));
            }
            work.push_back(sum);
          }
        }
      },
      options.model);
  return work;
}

Watch::Watch(const AtlasOptions& options, Verbosity verbosity)
    : work_(work_of_steps(options)), terminal_(isatty(STDERR_FILENO)),
      shown_(verbosity == Verbosity::verbose || (verbosity == Verbosity::automatic && terminal_)),
      last_(Clock::now()) {}

void Watch::announce(const std::string& lines) const {
  if (shown_) std::fputs(lines.c_str(), stderr);
}

double Watch::seconds_left(std::size_t step, std::size_t done, std::size_t all) const {
  double left = double(all - done) * work_of(step);
  for (std::size_t s = step + 1; s < work_.size(); ++s) left += double(all) * work_[s];
  return done_work_ > 0 ? left * seconds_ / done_work_ : 0;
}

void Watch::on_subject(AtlasStage stage, int round, std::size_t done, std::size_t all,
                       bool resumed) {
  const std::size_t step = std::size_t(round) + (stage == AtlasStage::rounds ? 2 : 0);
  const Clock::time_point now = Clock::now();
  if (!resumed) {
    seconds_ += std::chrono::duration<double>(now - last_).count();
    done_work_ += work_of(step);
  }
  last_ = now;
  if (!shown_ || (!terminal_ && done != all)) return;
  const double left = std::ceil(seconds_left(step, done, all));
  if (stage == AtlasStage::linear)
    std::fprintf(stderr, "%slinear stage %d/2  subject %zu/%zu  about %.0f s left%s",
                 terminal_ ? "\r\033[K" : "", round + 1, done, all, left, terminal_ ? "" : "\n");
  else
    std::fprintf(stderr, "%sround %d/%zu  subject %zu/%zu  about %.0f s left%s",
                 terminal_ ? "\r\033[K" : "", round + 1, work_.size() - 2, done, all, left,
                 terminal_ ? "" : "\n");
}

void Watch::on_round(const AtlasRound& r) {
  if (!shown_) return;
  const int digits = length_digits(r.grid.spacing.minCoeff(), 2);
  std::fprintf(stderr,
               "%sresolution %d/%d round %d  %dx%dx%d  mean deformation %.*f mm (change %.3f "
               "voxels), subjects' %.*f mm, sharpness %.4f  %.2f s%s\n",
               terminal_ ? "\r\033[K" : "", r.resolution + 1, r.resolutions, r.round + 1,
               r.grid.extent.x, r.grid.extent.y, r.grid.extent.z, digits + 1, r.drift_mm,
               r.change_voxels, digits, r.deformation_mm, r.sharpness, r.seconds,
               r.registered == 0 ? " (was there)" : "");
}

bool Watch::stop_requested() { return interrupt_requested(); }

}  // namespace freeflow::apps
