// Descent on a cost whose value and force (minus gradient) come from the device. Three rules for
// the direction share one loop: each is a linear combination of stored vectors (last steps, last
// changes of the force, the force), and its coefficients follow from their inner products alone
// (the "vector-free" form of L-BFGS, Chen et al. 2014). So an iteration queues everything and waits
// for the device once per evaluation.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include <freeflow/core/buffer.h>
#include <freeflow/registration/observer.h>

namespace freeflow {

enum class OptimizerKind {
  gradient,  ///< steepest descent, step normalised to a largest displacement that grows and shrinks
             ///< (Ikeda 2014)
  cg,        ///< Polak-Ribiere conjugate gradient, restarted where it fails to descend
  lbfgs      ///< limited-memory BFGS, five pairs
};

std::optional<OptimizerKind> parse_optimizer(std::string_view name);

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::lbfgs;
  int max_iterations = 100;
  double first_step = 0.5;  ///< largest change of a parameter in the first step (parameter units)
  double smallest_step = 0.005;  ///< a line search that falls below this change ends the descent
  /// ends when five iterations lower the cost by less than this share of it
  double tolerance = 1e-5;
};

/// What is minimised. Evaluation is queued on the device.
class Objective {
 public:
  virtual ~Objective() = default;
  /// Writes minus the gradient at x to force (both device memory, as many as the parameters) and
  /// terms() numbers to terms.
  virtual void evaluate(Context& ctx, const float* x, float* force, double* terms) = 0;
  virtual int terms() const = 0;
  /// The cost from the terms, on the host.
  virtual double cost(const double* terms) const = 0;
  /// For the log: the terms of an accepted iterate.
  virtual void describe(const double* terms, IterationRecord& record) const = 0;
};

/// Lowers the cost from x, in place; in a rehearsal it only allocates. Fills level.iterations and
/// level.stopped_because. Throws Cancelled when the observer asks, RegistrationError when the cost
/// at the start is not finite.
void minimize(Context& ctx, Objective& objective, Buffer<float>& x, const OptimizerOptions& options,
              LevelRecord& level, Observer& observer);

}  // namespace freeflow
