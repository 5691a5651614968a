#include <freeflow/registration/ffd/descent_direction.h>

#include <algorithm>

namespace freeflow {

double inner(const GramMatrix& gram, const Combination& a, const Combination& b) {
  double sum = 0;
  for (int i = 0; i < VectorSlots::count; ++i)
    for (int j = 0; j < VectorSlots::count; ++j)
      if (a[i] != 0 && b[j] != 0) sum += a[i] * b[j] * gram[i][j];
  return sum;
}

namespace {
/// Inner product of a combination with one stored vector.
double inner_with(const GramMatrix& gram, const Combination& a, int slot) {
  double sum = 0;
  for (int i = 0; i < VectorSlots::count; ++i)
    if (a[i] != 0) sum += a[i] * gram[i][slot];
  return sum;
}
}  // namespace

Combination steepest_direction(int force_slot) {
  Combination d{};
  d[force_slot] = 1;
  return d;
}

Combination lbfgs_direction(const GramMatrix& gram, const History& history, int force_slot) {
  Combination d = steepest_direction(force_slot);
  if (history.empty()) return d;
  std::vector<double> alpha(history.size());
  for (std::size_t n = history.size(); n-- > 0;) {
    const int s = VectorSlots::step(history[n]), y = VectorSlots::change(history[n]);
    alpha[n] = inner_with(gram, d, s) / gram[s][y];
    d[y] -= alpha[n];
  }
  const int s = VectorSlots::step(history.back()), y = VectorSlots::change(history.back());
  const double scale = gram[s][y] / gram[y][y];
  for (double& c : d) c *= scale;
  for (std::size_t n = 0; n < history.size(); ++n) {
    const int sn = VectorSlots::step(history[n]), yn = VectorSlots::change(history[n]);
    d[sn] += alpha[n] - inner_with(gram, d, yn) / gram[sn][yn];
  }
  return d;
}

Combination cg_direction(const GramMatrix& gram, const History& history, int force_slot,
                         double last_t) {
  Combination d = steepest_direction(force_slot);
  if (history.empty()) return d;
  const int s = VectorSlots::step(history.back()), y = VectorSlots::change(history.back());
  // The change is old force minus new, so the old force is the new one plus it.
  const double old_squared = gram[force_slot][force_slot] + 2 * gram[force_slot][y] + gram[y][y];
  const double beta = old_squared > 0 ? std::max(0.0, -gram[force_slot][y] / old_squared) : 0.0;
  d[s] += beta / last_t;
  return d;
}

}  // namespace freeflow
