#include <freeflow/registration/linear/powell.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace freeflow {

double RememberedCost::operator()(const Eigen::VectorXd& p) {
  for (std::size_t i = 0; i < points_.size(); ++i)
    if (((p - points_[i]).array().abs() < resolution_.array()).all()) {
      ++recalls_;
      return values_[i];
    }
  points_.push_back(p);
  values_.push_back(cost_(p));
  return values_.back();
}

namespace {

void append(LevelRecord& level, Observer& observer, double cost, double step) {
  IterationRecord record;
  record.iteration = int(level.iterations.size());
  record.cost = record.similarity = cost;
  record.step_mm = step;
  level.iterations.push_back(record);
  observer.on_iteration(level);
  if (observer.stop_requested()) throw Cancelled{};
}

double finite_or_worst(double v) { return std::isfinite(v) ? v : 1e30; }

/// Minimum along a line by bracketing and golden section with parabolic steps (Brent, after
/// Numerical Recipes 10.2), to `tolerance`. t = 0 has value f0. Returns the best t and its value.
class LineSearch {
 public:
  LineSearch(const std::function<double(double)>& f, double tolerance)
      : f_(f), tolerance_(tolerance) {}

  std::pair<double, double> run(double f0, double step) {
    double a = 0, fa = f0, b = step, fb = f_(b);
    if (fb > fa) {
      std::swap(a, b);
      std::swap(fa, fb);
    }
    double c = b + (b - a), fc = f_(c);
    for (int grown = 0; fc < fb && grown < 12; ++grown) {
      a = std::exchange(b, c);
      fb = fc;
      c = b + 1.618 * (b - a);
      fc = f_(c);
    }
    return shrink(std::min(a, c), std::max(a, c), b, fb);
  }

 private:
  std::pair<double, double> shrink(double low, double high, double x, double fx) {
    constexpr double golden = 0.381966;
    constexpr int most = 30;
    double w = x, v = x, fw = fx, fv = fx, last = high - low, before = last;
    for (int i = 0; i < most; ++i) {
      const double middle = 0.5 * (low + high);
      if (std::abs(x - middle) <= 2 * tolerance_ - 0.5 * (high - low)) break;
      const double r = (x - w) * (fx - fv), s = (x - v) * (fx - fw);
      double numerator = (x - v) * s - (x - w) * r, denominator = 2 * (s - r);
      if (denominator > 0) numerator = -numerator;
      denominator = std::abs(denominator);
      double step;
      const bool parabola =
          denominator > 0 && std::abs(numerator) < std::abs(0.5 * denominator * before) &&
          numerator > denominator * (low - x) && numerator < denominator * (high - x);
      if (parabola) {
        before = last;
        step = numerator / denominator;
      } else {
        before = x >= middle ? low - x : high - x;
        step = golden * before;
      }
      if (std::abs(step) < tolerance_)
        step = std::copysign(tolerance_, parabola ? middle - x : step);
      last = step;
      const double u = x + step, fu = f_(u);
      if (fu <= fx) {
        (u >= x ? low : high) = x;
        v = std::exchange(w, std::exchange(x, u));
        fv = std::exchange(fw, std::exchange(fx, fu));
      } else {
        (u < x ? low : high) = u;
        if (fu <= fw || w == x) {
          v = std::exchange(w, u);
          fv = std::exchange(fw, fu);
        } else if (fu <= fv || v == x || v == w) {
          v = u;
          fv = fu;
        }
      }
    }
    return {x, fx};
  }

  const std::function<double(double)>& f_;
  double tolerance_;
};

}  // namespace

double minimize_powell(const PlainCost& cost, Eigen::VectorXd& p, const PowellOptions& options,
                       LevelRecord& level, Observer& observer) {
  RememberedCost remembered(cost, options.resolution);
  const Eigen::Index n = p.size();
  Eigen::MatrixXd directions = Eigen::MatrixXd::Identity(n, n);
  double value = finite_or_worst(remembered(p));
  append(level, observer, value, 0);
  level.stopped_because = "reached the number of iterations";
  const auto search_along = [&](const Eigen::VectorXd& direction, double step) {
    const std::function<double(double)> along = [&](double t) {
      return finite_or_worst(remembered(p + t * direction));
    };
    const auto [t, found] = LineSearch(along, options.smallest_step).run(value, step);
    if (!(found < value)) return;
    p += t * direction;
    value = found;
  };
  for (int round = 0; round < options.max_rounds; ++round) {
    const Eigen::VectorXd before = p;
    const double value_before = value;
    double largest_gain = 0;
    Eigen::Index steepest = 0;
    const double step = round == 0 ? options.first_step
                                   : std::max(0.5 * options.first_step, 4 * options.smallest_step);
    for (Eigen::Index i = 0; i < n; ++i) {
      const double start = value;
      search_along(directions.col(i), step);
      if (start - value > largest_gain) {
        largest_gain = start - value;
        steepest = i;
      }
    }
    const Eigen::VectorXd moved = p - before;
    const double length = moved.cwiseAbs().maxCoeff();
    append(level, observer, value, length);
    if (length < options.smallest_step) {
      level.stopped_because = "converged";
      break;
    }
    // Powell's rule: the round's mean direction replaces the one of the largest gain where the cost
    // still falls along it.
    const double beyond = finite_or_worst(remembered(p + moved));
    const double a = value_before - value - largest_gain, b = value_before - beyond;
    if (beyond < value_before &&
        2 * (value_before - 2 * value + beyond) * a * a < largest_gain * b * b) {
      const Eigen::VectorXd mean = moved / length;
      search_along(mean, length);
      directions.col(steepest) = directions.col(n - 1);
      directions.col(n - 1) = mean;
    }
  }
  return value;
}

double minimize_hill(const PlainCost& cost, Eigen::VectorXd& p, const PowellOptions& options,
                     LevelRecord& level, Observer& observer) {
  double value = finite_or_worst(cost(p));
  append(level, observer, value, 0);
  level.stopped_because = "reached the number of iterations";
  double step = options.first_step;
  for (int round = 0; round < 10 * options.max_rounds; ++round) {
    Eigen::VectorXd best = p;
    double best_value = value;
    for (Eigen::Index i = 0; i < p.size(); ++i)
      for (const double sign : {-1.0, 1.0}) {
        Eigen::VectorXd tried = p;
        tried[i] += sign * step;
        const double v = finite_or_worst(cost(tried));
        if (v < best_value) {
          best = tried;
          best_value = v;
        }
      }
    if (best_value < value) {
      p = best;
      value = best_value;
      append(level, observer, value, step);
      continue;
    }
    step *= 0.5;
    if (step < options.smallest_step) {
      level.stopped_because = "converged";
      break;
    }
  }
  return value;
}

}  // namespace freeflow
