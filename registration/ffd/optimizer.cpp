#include <freeflow/registration/ffd/optimizer.h>

#include <algorithm>
#include <cmath>

#include <freeflow/core/error.h>
#include <freeflow/core/for_each_voxel.h>
#include <freeflow/registration/ffd/optimizer_body.h>

namespace freeflow {

std::optional<OptimizerKind> parse_optimizer(std::string_view name) {
  if (name == "gradient") return OptimizerKind::gradient;
  if (name == "cg") return OptimizerKind::cg;
  if (name == "lbfgs") return OptimizerKind::lbfgs;
  return std::nullopt;
}

namespace {

constexpr double sufficient_decrease = 1e-4;  // Armijo
constexpr int convergence_window = 5;

/// n numbers as rows of equal length, a few hundred to a plane where n has such a divisor.
Extent rows_of(std::size_t n) {
  constexpr std::size_t planes = VectorRows::planes, fewest = 32, most = 1024, shortest = 1024;
  for (std::size_t rows = fewest; rows <= most && rows * planes * shortest <= n; ++rows)
    if (n % (rows * planes) == 0) return {int(n / (rows * planes)), 1, int(rows * planes)};
  return {int(n), 1, 1};
}

/// The vectors whose inner products an evaluation changes: its own three, then those they meet.
std::vector<int> newest_first(int force_slot, const History& active) {
  std::vector<int> slots{force_slot};
  for (const int k : History(active.rbegin(), active.rend())) {
    slots.push_back(VectorSlots::step(k));
    slots.push_back(VectorSlots::change(k));
  }
  return slots;
}

class Descent {
 public:
  Descent(Context& ctx, Objective& objective, Buffer<float>& x, const OptimizerOptions& options)
      : ctx_(ctx), objective_(objective), options_(options), x_(x), n_(x.size()),
        rows_(rows_of(n_)),
        vectors_(ctx, VectorSlots::count * n_, Planes{VectorSlots::count * VectorRows::planes}),
        direction_(ctx, n_, Planes{VectorRows::planes}),
        trial_(ctx, n_, Planes{VectorRows::planes}),
        scalars_(ctx, objective.terms() + 2 + DotBody::together), host_(scalars_.size()),
        work_(ctx, n_, DotBody::together), step_length_(options.first_step) {}

  void run(LevelRecord& level, Observer& observer);

 private:
  struct Evaluation {
    double cost, largest_force;
  };

  float* slot(int s) const { return vectors_.data() + s * n_; }
  void for_each_parameter(const auto& body) { for_each_voxel(ctx_, rows_, body); }
  VectorRows at() const { return {std::size_t(rows_.x)}; }
  Evaluation evaluate(const float* x, int force_slot, const History& active);
  int next_history_slot() const;
  Combination choose_direction(double& t, double& slope);
  bool line_search(double t, double slope, Evaluation& accepted, double& accepted_t);
  void accept(double t, double slope, const Evaluation& e);
  bool converged(const LevelRecord& level) const;

  Context& ctx_;
  Objective& objective_;
  const OptimizerOptions& options_;
  Buffer<float>& x_;
  std::size_t n_;
  Extent rows_;
  Buffer<float> vectors_, direction_, trial_;
  Buffer<double> scalars_;
  std::vector<double> host_;
  ReduceWorkspace work_;

  GramMatrix gram_{};
  History history_;
  int turn_ = 0;  // which force slot is current
  double cost_ = 0, largest_force_ = 0, largest_direction_ = 0;
  double last_t_ = 0, last_slope_ = 0;
  double step_length_;          // of the gradient rule
  int* evaluations_ = nullptr;  // the level's count
};

/// Evaluates at x into a force slot, then all inner products of the newest vectors with the active
/// ones. One wait.
Descent::Evaluation Descent::evaluate(const float* x, int force_slot, const History& active) {
  ++*evaluations_;
  objective_.evaluate(ctx_, x, slot(force_slot), scalars_.data());
  if (!active.empty()) {
    const int k = active.back(), old_force = VectorSlots::force(turn_);
    for_each_parameter(HistoryBody{at(), direction_.data(), slot(old_force), slot(force_slot),
                                   float(last_t_), slot(VectorSlots::step(k)),
                                   slot(VectorSlots::change(k))});
  }
  const std::vector<int> slots = newest_first(force_slot, active);
  DotBody dots;
  for (int v = 0; v < DotBody::vectors; ++v)
    dots.vector[v] = slot(v < int(slots.size()) ? slots[std::size_t(v)] : force_slot);
  const int pairs = DotBody::rows * int(slots.size());
  const int terms = objective_.terms(), first_dot = terms + 2;
  reduce(ctx_, n_, 1, LargestBody{{}, slot(force_slot)}, work_, scalars_.data() + terms);
  if (!active.empty())
    reduce(ctx_, n_, 1, LargestBody{{}, direction_.data()}, work_, scalars_.data() + terms + 1);
  reduce(ctx_, n_, pairs, dots, work_, scalars_.data() + first_dot);
  ctx_.copy_to_host(host_.data(), scalars_.data(), (first_dot + pairs) * sizeof(double));
  for (int p = 0; p < pairs; ++p) {
    const std::size_t row = std::size_t(p % DotBody::rows), column = std::size_t(p / DotBody::rows);
    if (row >= slots.size()) continue;
    gram_[slots[row]][slots[column]] = gram_[slots[column]][slots[row]] = host_[first_dot + p];
  }
  if (!active.empty()) largest_direction_ = host_[terms + 1];
  return {objective_.cost(host_.data()), host_[terms]};
}

int Descent::next_history_slot() const {
  if (history_.size() == VectorSlots::history) return history_.front();
  for (int k = 0;; ++k)
    if (std::find(history_.begin(), history_.end(), k) == history_.end()) return k;
}

/// Queues the direction; t is the first trial, slope the descent per t.
Combination Descent::choose_direction(double& t, double& slope) {
  const int force = VectorSlots::force(turn_);
  const Combination steepest = steepest_direction(force);
  Combination d = steepest;
  if (options_.kind == OptimizerKind::lbfgs) d = lbfgs_direction(gram_, history_, force);
  if (options_.kind == OptimizerKind::cg) d = cg_direction(gram_, history_, force, last_t_);
  slope = inner(gram_, d, steepest);
  if (!(slope > 0)) {
    history_.clear();
    d = steepest;
    slope = gram_[force][force];
  }
  if (options_.kind == OptimizerKind::lbfgs && !history_.empty())
    t = 1;
  else if (options_.kind == OptimizerKind::cg && !history_.empty())
    t = std::min(last_t_ * last_slope_ / slope, 2 * last_t_);
  else
    t = step_length_ / largest_force_;
  CombineBody body{at(), vectors_.data(), n_, {}, direction_.data()};
  for (int b = 0; b < VectorSlots::count; ++b) body.coefficient[b] = float(d[b]);
  for_each_parameter(body);
  return d;
}

/// Backtracks until the cost falls enough. The trial's step and force change stand in the next
/// history slot afterwards.
bool Descent::line_search(double t, double slope, Evaluation& accepted, double& accepted_t) {
  History active = history_;
  const int k = next_history_slot();
  if (!active.empty() && active.front() == k) active.erase(active.begin());
  active.push_back(k);
  for (bool first = true;; first = false) {
    last_t_ = t;
    for_each_parameter(StepBody{at(), x_.data(), direction_.data(), float(t), trial_.data()});
    const Evaluation e = evaluate(trial_.data(), VectorSlots::force(1 - turn_), active);
    const bool finite = std::isfinite(e.cost);
    if (finite && e.cost <= cost_ - sufficient_decrease * t * slope) {
      accepted = e;
      accepted_t = t;
      history_ = active;
      if (options_.kind == OptimizerKind::gradient)
        step_length_ = t * largest_direction_ * (first ? 1.2 : 1.0);
      return true;
    }
    const double expected = finite ? 0.5 * t * slope / (e.cost - cost_ + t * slope) : 0.1;
    t *= std::clamp(expected, 0.1, 0.5);
    if (!(t * largest_direction_ > options_.smallest_step)) return false;
  }
}

void Descent::accept(double t, double slope, const Evaluation& e) {
  std::swap(x_, trial_);
  turn_ = 1 - turn_;
  cost_ = e.cost;
  largest_force_ = e.largest_force;
  last_t_ = t;
  last_slope_ = slope;
  const int k = history_.back();
  if (!(gram_[VectorSlots::step(k)][VectorSlots::change(k)] > 0) &&
      options_.kind == OptimizerKind::lbfgs)
    history_.pop_back();
}

bool Descent::converged(const LevelRecord& level) const {
  const int done = int(level.iterations.size());
  if (done <= convergence_window) return false;
  return level.iterations[done - 1 - convergence_window].cost - cost_ <
         options_.tolerance * std::abs(cost_);
}

void Descent::run(LevelRecord& level, Observer& observer) {
  evaluations_ = &level.evaluations;
  Evaluation e = evaluate(x_.data(), VectorSlots::force(turn_), {});
  if (!std::isfinite(e.cost))
    throw RegistrationError(
        "the cost at the start of a level is not a number: no fixed voxel inside its mask falls on "
        "a moving one inside its mask");
  cost_ = e.cost;
  largest_force_ = e.largest_force;
  const auto record = [&](int iteration, double step) {
    IterationRecord r;
    r.iteration = iteration;
    r.cost = cost_;
    r.step_mm = step;
    objective_.describe(host_.data(), r);
    level.iterations.push_back(r);
    observer.on_iteration(level);
  };
  record(0, 0);
  level.stopped_because = "reached the number of iterations";
  for (int iteration = 1; iteration <= options_.max_iterations;) {
    if (observer.stop_requested()) throw Cancelled{};
    if (!(largest_force_ > 0)) {
      level.stopped_because = "the force vanished";
      return;
    }
    double t, slope;
    choose_direction(t, slope);
    const bool had_history = !history_.empty() && options_.kind != OptimizerKind::gradient;
    if (!line_search(t, slope, e, t)) {
      if (!had_history) {
        level.stopped_because = "no step lowers the cost further";
        return;
      }
      history_.clear();
      continue;
    }
    accept(t, slope, e);
    record(iteration, t * largest_direction_);
    ++iteration;
    if (converged(level)) {
      level.stopped_because = "converged";
      return;
    }
  }
}

}  // namespace

void minimize(Context& ctx, Objective& objective, Buffer<float>& x, const OptimizerOptions& options,
              LevelRecord& level, Observer& observer) {
  Descent descent(ctx, objective, x, options);
  if (!ctx.rehearses()) descent.run(level, observer);
}

}  // namespace freeflow
