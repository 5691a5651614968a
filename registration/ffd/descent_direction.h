// Private: the directions of optimizer.h as coefficients over the stored vectors, from inner
// products only. Host code.
#pragma once

#include <array>
#include <vector>

namespace freeflow {

/// Slots of the stored vectors: steps 0 .. m-1, force changes m .. 2m-1, then two forces that take
/// turns being current.
struct VectorSlots {
  static constexpr int history = 5;
  static constexpr int count = 2 * history + 2;
  static constexpr int step(int k) { return k; }
  static constexpr int change(int k) { return history + k; }
  static constexpr int force(int turn) { return 2 * history + turn; }
};

/// Inner products of the stored vectors.
using GramMatrix = std::array<std::array<double, VectorSlots::count>, VectorSlots::count>;
/// Coefficients of a direction over the stored vectors.
using Combination = std::array<double, VectorSlots::count>;

/// Pairs (step, change) in use, oldest first, as indices k of VectorSlots.
using History = std::vector<int>;

/// The force itself.
Combination steepest_direction(int force_slot);
/// Two-loop recursion (Nocedal 1980) with the usual scaling by the newest pair; steepest without a
/// history.
Combination lbfgs_direction(const GramMatrix& gram, const History& history, int force_slot);
/// force + max(0, beta) * last direction, where the newest pair holds the last step (last_t times
/// that direction).
Combination cg_direction(const GramMatrix& gram, const History& history, int force_slot,
                         double last_t);

/// Inner product of two combinations.
double inner(const GramMatrix& gram, const Combination& a, const Combination& b);

}  // namespace freeflow
