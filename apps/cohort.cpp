#include <apps/cohort.h>

#include <omp.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <future>
#include <optional>

#include <apps/program.h>
#include <freeflow/core/cancelled.h>
#include <freeflow/io/output_set.h>
#include <freeflow/io/write_error.h>

namespace freeflow::apps {

namespace {

enum class State { waiting, done, made_before, failed };

struct Pair {
  std::unique_ptr<PairRun> run;
  State state = State::waiting;
  double seconds = 0;  ///< of computing and writing
  std::string failure;
};

class Cohort {
 public:
  Cohort(const CohortOptions& options, const std::vector<CohortPair>& listed)
      : options_(options), listed_(listed), pairs_(listed.size()) {}

  int run();

 private:
  std::string label(std::size_t i) const {
    return "pair " + std::to_string(i + 1) + "/" + std::to_string(pairs_.size());
  }
  void begin_reading(std::size_t i);
  bool end_reading(std::size_t i);
  void compute(Context& ctx, std::size_t i);
  void end_writing();
  template <class Work>
  void attempt(std::size_t i, const Work& work);
  std::size_t count(State state) const {
    return std::size_t(std::ranges::count(pairs_, state, &Pair::state));
  }
  void write_summary() const;
  void say_summary() const;

  const CohortOptions& options_;
  const std::vector<CohortPair>& listed_;
  std::vector<Pair> pairs_;
  std::optional<std::size_t> being_written_;
  std::future<bool> reading_;    // of one pair, whether it is to do
  std::future<double> writing_;  // its seconds; after what they refer to
};

/// A pair whose work throws has failed, and nothing of it is left.
template <class Work>
void Cohort::attempt(std::size_t i, const Work& work) {
  try {
    work();
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    pairs_[i].failure = current_failure().sentence;
    pairs_[i].state = State::failed;
    pairs_[i].run.reset();
    std::fprintf(stderr, "%s: %s (%s): %s\n", options_.program.c_str(), label(i).c_str(),
                 listed_[i].output.c_str(), pairs_[i].failure.c_str());
  }
}

void Cohort::begin_reading(std::size_t i) {
  if (i == pairs_.size()) return;
  stop_if_interrupted();
  pairs_[i].run = listed_[i].make(options_.program + ": " + label(i));
  reading_ = std::async(std::launch::async, [&run = *pairs_[i].run, most = omp_get_max_threads()] {
    omp_set_num_threads(most);  // a new thread has the environment's number
    if (run.made_already()) return false;
    run.read();
    return true;
  });
}

bool Cohort::end_reading(std::size_t i) {
  attempt(i, [&] {
    if (reading_.get()) return;
    pairs_[i].state = State::made_before;
    pairs_[i].run.reset();
  });
  return pairs_[i].state == State::waiting;
}

void Cohort::compute(Context& ctx, std::size_t i) {
  const bool shown = options_.verbosity == Verbosity::verbose ||
                     (options_.verbosity == Verbosity::automatic && stderr_is_terminal());
  if (shown) std::fprintf(stderr, "%s: %s\n", label(i).c_str(), listed_[i].output.c_str());
  Stopwatch watch;
  std::function<void()> rest;
  attempt(i, [&] { rest = pairs_[i].run->compute(ctx); });
  end_writing();
  if (!rest) return;
  being_written_ = i;
  writing_ = std::async(std::launch::async, [watch, rest = std::move(rest)]() mutable {
    rest();
    return watch.lap();
  });
}

void Cohort::end_writing() {
  if (!being_written_) return;
  const std::size_t i = *being_written_;
  being_written_.reset();
  attempt(i, [&] {
    pairs_[i].seconds = writing_.get();
    pairs_[i].state = State::done;
    pairs_[i].run.reset();
  });
}

void Cohort::write_summary() const {
  if (options_.summary.empty()) return;
  OutputSet set(options_.summary);
  const std::string path = set.file("");
  std::ofstream file(path);
  if (!file) fail_writing(options_.summary, errno);
  file << "pair\toutput\tstate\tseconds\tsentence\n";
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    constexpr const char* words[] = {"waiting", "done", "made before", "failed"};
    const Pair& pair = pairs_[i];
    file << i + 1 << '\t' << listed_[i].output << '\t' << words[int(pair.state)] << '\t'
         << pair.seconds << '\t' << pair.failure << '\n';
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
}

int Cohort::run() {
  std::future<Context> starting = start_context(options_.device, options_.threads);
  try {
    begin_reading(0);
    Context ctx = starting.get();
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const bool to_do = end_reading(i);
      begin_reading(i + 1);
      if (to_do) compute(ctx, i);
    }
    end_writing();
  } catch (const Cancelled&) {
    try {
      end_writing();  // it may have ended in time
    } catch (const Cancelled&) {
    }
    const std::size_t there = count(State::done) + count(State::made_before);
    throw Interrupted{std::to_string(there) + " of " + std::to_string(pairs_.size()) +
                      " pairs are done, and the same command goes on with the others"};
  }
  write_summary();
  say_summary();
  return count(State::failed) > 0 ? work_failed : done;
}

}  // namespace

int run_cohort(const CohortOptions& options, const std::vector<CohortPair>& pairs) {
  return Cohort(options, pairs).run();
}

}  // namespace freeflow::apps
