#include <apps/cohort.h>

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <fstream>
#include <future>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include <apps/program.h>
#include <apps/threads.h>
#include <freeflow/core/cancelled.h>
#include <freeflow/core/error.h>
#include <freeflow/core/memory.h>
#include <freeflow/io/output_set.h>
#include <freeflow/io/write_error.h>

namespace freeflow::apps {

namespace {

enum class State { not_done, done, made_before, failed };

struct Ending {
  State state = State::not_done;
  double seconds = 0;   ///< of computing and writing
  PairVerdict verdict;  ///< of a failure the sentence alone
};

struct Pair {
  std::unique_ptr<PairRun> run;
  Ending ending;
};

class Worker;

/// The pairs, each of which is one worker's from take() on.
class Cohort {
 public:
  Cohort(const CohortOptions& options, const std::vector<CohortPair>& listed);

  int run();

  const CohortOptions& options() const { return options_; }
  const CohortPair& listed(std::size_t i) const { return listed_[i]; }
  Pair& pair(std::size_t i) { return pairs_[i]; }
  std::string label(std::size_t i) const {
    return "pair " + std::to_string(i + 1) + "/" + std::to_string(pairs_.size());
  }
  /// The next pair to do, while there is one.
  std::optional<std::size_t> take();
  /// A pair is at its end; the summary follows, but not for every one of many.
  void ended(std::size_t i, const Ending& ending);
  /// Whether a pair that found no memory is tried again, as it was not alone.
  bool try_alone(std::size_t i);
  /// Whether several pairs are at work, or will be.
  bool several() const { return jobs_ > 1; }

 private:
  void work(Worker& first, Context ctx);
  template <class Work>
  void guarded(const Work& work);
  void work_beside(const Device& device, int threads);
  int workers(const Context& ctx) const;
  std::size_t count(State state) const {
    return std::size_t(
        std::ranges::count(pairs_, state, [](const Pair& pair) { return pair.ending.state; }));
  }
  std::size_t count(std::string_view grade) const {
    return std::size_t(std::ranges::count(pairs_, grade, [](const Pair& pair) {
      return std::string_view(pair.ending.verdict.grade);
    }));
  }
  void write_summary() const;
  void say_summary() const;

  const CohortOptions& options_;
  const std::vector<CohortPair>& listed_;
  std::vector<Pair> pairs_;
  std::mutex mutex_;  // of the pairs' endings and of what follows
  Stopwatch since_summary_;
  std::deque<std::size_t> to_do_, to_do_alone_;
  std::exception_ptr error_;  // the first that ended a worker
  int jobs_ = 1;
  bool alone_ = true;
};

/// Computes one pair after the other.
class Worker {
 public:
  explicit Worker(Cohort& cohort) : cohort_(cohort), next_(cohort.take()) { begin_reading(); }
  /// Until no pair is left, or `pairs` were computed. After Ctrl-C the pair that is being written
  /// ends as it will.
  void work(Context& ctx, std::size_t pairs);
  /// Before it goes on with another context.
  void forget_images() { kept_.forget(); }

 private:
  void begin_reading();
  bool end_reading(std::size_t i);
  void compute(Context& ctx, std::size_t i);
  void end_writing();
  template <class Work>
  void attempt(std::size_t i, const Work& work);

  Cohort& cohort_;
  KeptImages kept_;
  std::optional<std::size_t> next_, being_written_;
  std::future<bool> reading_;    // of the next pair, whether it is to do
  std::future<double> writing_;  // its seconds; after what they refer to
};

/// Whether the exception that is being handled says that memory or threads ended.
bool ran_out() {
  try {
    throw;
  } catch (const DeviceError&) {
    return true;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (const std::system_error&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// A pair whose work throws has failed, and nothing of it is left.
template <class Work>
void Worker::attempt(std::size_t i, const Work& work) {
  Pair& pair = cohort_.pair(i);
  try {
    work();
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    pair.run.reset();
    if (ran_out() && cohort_.try_alone(i)) return;
    const std::string failure = current_failure().sentence;
    std::fprintf(stderr, "%s: %s (%s): %s\n", cohort_.options().program.c_str(),
                 cohort_.label(i).c_str(), cohort_.listed(i).output.c_str(), failure.c_str());
    cohort_.ended(i, {State::failed, 0, {"", failure}});
  }
}

void Worker::begin_reading() {
  if (!next_) return;
  stop_if_interrupted();
  Pair& pair = cohort_.pair(*next_);
  pair.run =
      cohort_.listed(*next_).make(cohort_.options().program + ": " + cohort_.label(*next_), kept_);
  reading_ = run_beside([&run = *pair.run] {
    if (run.made_already()) return false;
    run.read();
    return true;
  });
}

bool Worker::end_reading(std::size_t i) {
  bool to_do = false;
  attempt(i, [&] {
    to_do = reading_.get();
    if (to_do) return;
    Pair& pair = cohort_.pair(i);
    cohort_.ended(i, {State::made_before, 0, pair.run->verdict()});
    pair.run.reset();
  });
  return to_do;
}

void Worker::compute(Context& ctx, std::size_t i) {
  const Verbosity verbosity = cohort_.options().verbosity;
  const bool shown = verbosity == Verbosity::verbose ||
                     (verbosity == Verbosity::automatic && stderr_is_terminal());
  if (shown)
    std::fprintf(stderr, "%s: %s\n", cohort_.label(i).c_str(), cohort_.listed(i).output.c_str());
  Stopwatch watch;
  std::function<void()> rest;
  attempt(i, [&] { rest = cohort_.pair(i).run->compute(ctx, cohort_.several()); });
  end_writing();
  if (!rest) return;
  being_written_ = i;
  writing_ = run_beside([watch, rest = std::move(rest)]() mutable {
    rest();
    return watch.lap();
  });
}

void Worker::end_writing() {
  if (!being_written_) return;
  const std::size_t i = *being_written_;
  being_written_.reset();
  attempt(i, [&] {
    Pair& pair = cohort_.pair(i);
    const double seconds = writing_.get();
    cohort_.ended(i, {State::done, seconds, pair.run->verdict()});
    pair.run.reset();
  });
}

void Worker::work(Context& ctx, std::size_t pairs) {
  try {
    while (next_ && pairs > 0) {
      const std::size_t i = *next_;
      const bool to_do = end_reading(i);
      next_ = cohort_.take();
      begin_reading();
      if (!to_do) continue;
      compute(ctx, i);
      --pairs;
    }
    if (!next_) end_writing();
  } catch (const Cancelled&) {
    try {
      end_writing();  // it may have ended in time
    } catch (const Cancelled&) {
    }
    throw;
  }
}

Cohort::Cohort(const CohortOptions& options, const std::vector<CohortPair>& listed)
    : options_(options), listed_(listed), pairs_(listed.size()), to_do_(listed.size()) {
  std::iota(to_do_.begin(), to_do_.end(), 0);
}

std::optional<std::size_t> Cohort::take() {
  const std::lock_guard lock(mutex_);
  if (to_do_.empty() || error_) return std::nullopt;
  const std::size_t i = to_do_.front();
  to_do_.pop_front();
  return i;
}

void Cohort::ended(std::size_t i, const Ending& ending) {
  constexpr double seconds_between = 2;
  const std::lock_guard lock(mutex_);
  pairs_[i].ending = ending;
  if (since_summary_.seconds() < seconds_between) return;
  since_summary_.lap();
  try {
    write_summary();
  } catch (const std::exception&) {  // the last one, when all have ended, says so
  }
}

bool Cohort::try_alone(std::size_t i) {
  const std::lock_guard lock(mutex_);
  if (!alone_) to_do_alone_.push_back(i);
  return !alone_;
}

/// How many there is memory for. Each takes about as much as the first pair did, and pairs differ;
/// on the host it holds a pair that is read, one at work and one that is written, together about
/// what a device needs for one.
int Cohort::workers(const Context& ctx) const {
  const std::size_t each = 2 * ctx.statistics().peak_bytes,
                    free = std::min(free_bytes(ctx), free_host_bytes()), most = std::size_t(jobs_);
  const std::size_t fit = each == 0 ? most : 1 + free / each;
  return int(std::min({most, fit, pairs_.size()}));
}

template <class Work>
void Cohort::guarded(const Work& work) {
  try {
    work();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void Cohort::work_beside(const Device& device, int threads) {
  guarded([&] {
    omp_set_num_threads(threads);
    std::optional<Context> ctx;
    try {
      ctx.emplace(device, threads);
    } catch (const DeviceError&) {
      return;  // the others do its part
    }
    Worker(*this).work(*ctx, pairs_.size());
  });
}

void Cohort::work(Worker& first, Context ctx) {
  const Device device = ctx.device();
  const int all_threads = ctx.threads();
  const bool shown = options_.verbosity == Verbosity::verbose;
  jobs_ = options_.jobs > 0 ? options_.jobs : device.is_cuda() && !shown ? 6 : 1;
  if (several()) first.work(ctx, 1);
  const int together = several() ? workers(ctx) : 1;
  if (together == 1) return first.work(ctx, pairs_.size());

  const int threads = std::max(1, all_threads / together);
  alone_ = false;
  first.forget_images();
  ctx = Context(device, threads);
  omp_set_num_threads(threads);
  std::vector<std::jthread> beside;
  try {
    for (int i = 1; i < together; ++i) beside.emplace_back([&] { work_beside(device, threads); });
  } catch (const std::system_error&) {
    // no more threads: those that there are do all
  }
  guarded([&] { first.work(ctx, pairs_.size()); });
  beside.clear();
  omp_set_num_threads(all_threads);
  if (error_) std::rethrow_exception(error_);

  if (to_do_alone_.empty()) return;
  alone_ = true;
  to_do_.swap(to_do_alone_);
  ctx = Context(device, all_threads);
  Worker(*this).work(ctx, pairs_.size());
}

void Cohort::write_summary() const {
  if (options_.summary.empty()) return;
  OutputSet set(options_.summary);
  const std::string path = set.file("");
  std::ofstream file(path);
  if (!file) fail_writing(options_.summary, errno);
  file << "pair\toutput\tstate\tseconds\tverdict\tsentence\n";
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    constexpr const char* words[] = {"not done", "done", "made before", "failed"};
    const auto& [state, seconds, verdict] = pairs_[i].ending;
    file << i + 1 << '\t' << for_users(listed_[i].output) << '\t' << words[int(state)] << '\t'
         << seconds << '\t' << verdict.grade << '\t' << for_users(verdict.sentence) << '\n';
  }
  file.close();
  if (!file) fail_cut_short(options_.summary, path);
  set.commit();
}

void Cohort::say_summary() const {
  if (options_.verbosity == Verbosity::quiet) return;
  std::fprintf(stderr, "%s: %zu pairs: %zu done, %zu made before, %zu failed\n",
               options_.program.c_str(), pairs_.size(), count(State::done),
               count(State::made_before), count(State::failed));
  const std::size_t look = count("look"), bad = count("bad");
  if (look + bad > 0)
    std::fprintf(stderr,
                 "%s: %zu of them to be looked at, %zu bad by their reports; --summary FILE.tsv "
                 "lists them, regtool report --group shows them\n",
                 options_.program.c_str(), look, bad);
}

int Cohort::run() {
  std::future<Context> starting = start_context(options_.device, options_.threads);
  try {
    Worker first(*this);
    Context ctx = starting.get();
    write_summary();  // so that what cannot be written is said before the first pair is computed
    work(first, std::move(ctx));
  } catch (const Cancelled&) {
    const std::size_t there = count(State::done) + count(State::made_before);
    write_summary();
    throw Interrupted{std::to_string(there) + " of " + std::to_string(pairs_.size()) +
                      " pairs are done, and the same command goes on with the others"};
  }
  write_summary();
  say_summary();
  return count(State::failed) > 0 ? work_failed : done;
}

/// Said before the first pair is computed, not when that one's turn comes.
std::vector<std::string> missing_files(const std::vector<CohortPair>& pairs) {
  std::vector<std::string> said;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    for (const std::string& path : pairs[i].inputs)
      if (std::error_code none; !std::filesystem::exists(path, none))
        said.push_back("pair " + std::to_string(i + 1) + " (" + pairs[i].output +
                       ") will fail: there is no '" + path + "'");
  return said;
}

}  // namespace

int run_cohort(const CohortOptions& options, const std::vector<CohortPair>& pairs) {
  print_warnings(options.program, missing_files(pairs), options.verbosity == Verbosity::quiet);
  return Cohort(options, pairs).run();
}

}  // namespace freeflow::apps
