#include <freeflow/similarity/intensity_range.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include <freeflow/similarity/intensity_range_body.h>

namespace freeflow {

namespace {

/// Narrows [low, high] to the sixteenth that holds the wanted rank, at least three times, and on
/// while that still holds more than half a tail of the voxels: one hot voxel among millions may
/// stretch the full range a thousandfold.
float percentile(Context& ctx, const Volume<float>& image, float low, float high, double rank,
                 double tail, const ReduceWorkspace& work, Buffer<double>& scalars, bool upper) {
  constexpr int fewest_rounds = 3;
  for (int round = 0;; ++round) {
    reduce(ctx, image.extent().count(), RankBody::thresholds,
           RankBody{{}, image.view().data, low, high}, work, scalars.data());
    const std::vector<double> counts = scalars.to_host(ctx);
    int k = 0;
    while (k + 1 < RankBody::thresholds && counts[k] < rank) ++k;
    const float a = k == 0 ? low : RankBody::threshold(low, high, k - 1),
                b = RankBody::threshold(low, high, k);
    if (!(a < b) || (a == low && b == high)) break;  // float resolves no further
    low = a;
    high = b;
    if (round + 1 >= fewest_rounds && k > 0 && counts[k] - counts[k - 1] < 0.5 * tail) break;
  }
  return upper ? high : low;
}

/// Whether its ends are not what rounding leaves of one value on a level that was averaged, or what
/// percentile() of one value, which narrows to the next float.
bool is_apart(const IntensityRange& r) {
  constexpr float rounding = 4 * std::numeric_limits<float>::epsilon();
  return r.high - r.low >
         rounding * std::max(std::abs(r.low), std::abs(r.high)) + std::numeric_limits<float>::min();
}

}  // namespace

IntensityRange robust_range(Context& ctx, const Volume<float>& image, const char* what,
                            double tail) {
  require_on_device(ctx, image);
  const std::size_t n = image.extent().count();
  const ReduceWorkspace work(ctx, n, RankBody::thresholds);
  Buffer<double> scalars(ctx, RankBody::thresholds);
  reduce(ctx, n, 2, FiniteRangeBody{{}, image.view().data}, work, scalars.data());
  reduce(ctx, n, 1, FiniteCountBody{{}, image.view().data}, work, scalars.data() + 2);
  const std::vector<double> s = scalars.to_host(ctx);
  if (ctx.rehearses()) return {};
  if (s[2] == 0)
    throw RegistrationError(std::string(what) + " has no finite voxel (inside its mask)");
  const float high = FiniteRangeBody::value(s[0] - FiniteRangeBody::offset);
  const float low = FiniteRangeBody::value(FiniteRangeBody::offset - s[1]);
  if (!is_apart({low, high})) {
    std::ostringstream value;  // six digits, which rounding has left alone
    value << low;
    throw RegistrationError(std::string(what) + " is constant (" + value.str() +
                            " wherever it counts): there is nothing to align");
  }
  if (!std::isfinite(high - low))
    throw RegistrationError(std::string(what) +
                            " spans more than float can hold; rescale its intensities");
  reduce(ctx, n, 1, RankBody{{}, image.view().data, low, low}, work,
         scalars.data());  // how many are at the minimum
  // background, more often than not
  const bool at_minimum = scalars.to_host(ctx)[0] >= tail * s[2];
  const IntensityRange robust{
      at_minimum
          ? low
          : percentile(ctx, image, low, high, tail * s[2], tail * s[2], work, scalars, false),
      percentile(ctx, image, low, high, (1 - tail) * s[2], tail * s[2], work, scalars, true)};
  // An image that is flat but for fewer voxels than a tail has no robust range; then the full one
  // serves.
  return is_apart(robust) ? robust : IntensityRange{low, high};
}

}  // namespace freeflow
