#include <freeflow/evaluation/statistics.h>

#include <algorithm>
#include <cmath>

namespace freeflow {

void Moments::add(const Moments& other) {
  if (other.count == 0) return;
  const double all = double(count + other.count), away = other.mean_of_these - mean_of_these;
  mean_of_these += away * (double(other.count) / all);
  squares += other.squares + away * away * (double(count) * double(other.count) / all);
  count += other.count;
}

double Moments::deviation() const {
  return count ? std::sqrt(squares / double(count)) : std::numeric_limits<double>::quiet_NaN();
}

double percentile(std::vector<double>& values, double percent) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double rank = percent / 100 * double(values.size() - 1);
  const auto low = values.begin() + std::ptrdiff_t(rank);
  std::nth_element(values.begin(), low, values.end());
  if (low + 1 == values.end()) return *low;
  const double next = *std::min_element(low + 1, values.end());
  return *low + (rank - std::floor(rank)) * (next - *low);
}

}  // namespace freeflow
