// Every scheme on two real brains.
#include <freeflow/similarity/joint_histogram/joint_histogram.h>

#include "support/devices.h"
#include "support/real_data.h"

namespace freeflow {
namespace {

using namespace test;

class RealHistogram : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(RealHistogram);

TEST_P(RealHistogram, BrainsAreCountedExactly) {
  const std::optional<BytePair> brains = oasis_byte_pair();
  if (!brains)
    GTEST_SKIP()
        << "no real images: put them in ../shared/data or name their folder in FREEFLOW_DATA";
  for (int bins : {64, 256}) {
    std::vector<std::uint8_t> f = brains->fixed, m = brains->moving;
    for (std::uint8_t& v : f) v = std::uint8_t(v * bins / 256);
    for (std::uint8_t& v : m) v = std::uint8_t(v * bins / 256);
    const HistogramShape shape{bins, bins, Estimator::hard};
    std::vector<std::uint64_t> expected(shape.bins());
    for (std::size_t i = 0; i < f.size(); ++i) ++expected[std::size_t(f[i]) * bins + m[i]];
    const Buffer<std::uint8_t> fixed(ctx, f), moving(ctx, m);
    Buffer<std::uint64_t> histogram(ctx, shape.bins());
    for (const HistogramSchemeInfo& info : histogram_schemes()) {
      JointHistogram(ctx, info.scheme, shape, f.size())
          .count(ctx, BinnedPair{fixed.data(), moving.data(), f.size()}, histogram.data());
      ASSERT_EQ(histogram.to_host(ctx), expected) << info.name;
    }
  }
}

}  // namespace
}  // namespace freeflow
