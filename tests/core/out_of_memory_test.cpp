// An allocation that fails on a thread of an OpenMP region becomes an exception of the caller's;
// one that fails while unfinished files are taken back leaves the rest to the next run.
// This program replaces operator new, so it is one of its own.
#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <set>
#include <string>

#include <freeflow/denoise/patch_search/patch_search.h>
#include <freeflow/io/gzip_writer.h>
#include <freeflow/io/output_set.h>
#include <freeflow/regularize/smoother.h>
#include <freeflow/similarity/correlation_ratio.h>
#include <freeflow/similarity/joint_histogram/joint_histogram.h>
#include <freeflow/similarity/lncc.h>

#include "support/phantoms.h"

namespace {
std::atomic<bool> fails_in_regions = false;
std::atomic<int> left = -1;  // allocations until all fail; negative: none does
std::atomic<int> refused = 0;
}  // namespace

// Out of line, or g++ takes malloc and delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if ((fails_in_regions && omp_in_parallel()) || left == 0) {
    ++refused;
    throw std::bad_alloc{};
  }
  if (left > 0) --left;
  if (void* pointer = std::malloc(bytes ? bytes : 1)) return pointer;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* pointer) noexcept { std::free(pointer); }
[[gnu::noinline]] void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }

namespace freeflow {
namespace {

using namespace test;

/// Runs work while allocations fail in parallel regions, then again while they do not.
template <class Work>
void expect_bad_alloc(const Work& work) {
  refused = 0;
  fails_in_regions = true;
  EXPECT_THROW(work(), std::bad_alloc);
  fails_in_regions = false;
  EXPECT_GT(refused, 0) << "nothing was allocated in a region: this tests nothing";
  EXPECT_NO_THROW(work());
}

Context two_threads() { return Context({}, 2); }

TEST(OutOfMemory, InASeparableGaussian) {
  Context ctx = two_threads();
  const Geometry g = plain_geometry({64, 64, 40});
  DisplacementField field(ctx, g, random_values(3 * g.extent.count(), 1));
  expect_bad_alloc([&] { smooth(ctx, field, {2, 2, 2}, Smoother::separable); });
}

TEST(OutOfMemory, InAFourierTransform) {
  const Geometry g = plain_geometry({40, 36, 30});
  Context ctx = two_threads();
  DisplacementField field(ctx, g, random_values(3 * g.extent.count(), 1));
  expect_bad_alloc([&] { smooth(ctx, field, {2, 2, 2}, Smoother::fft); });
}

TEST(OutOfMemory, InAJointHistogram) {
  Context ctx = two_threads();
  const std::size_t n = 1 << 17;
  const Buffer<std::uint8_t> bins(ctx, std::vector<std::uint8_t>(n, 3));
  const HistogramShape hard{256, 256, Estimator::hard};
  const Buffer<std::uint64_t> histogram(ctx, hard.bins());
  expect_bad_alloc([&] {
    JointHistogram(ctx, HistogramScheme::automatic, hard, n)
        .count(ctx, BinnedPair{bins.data(), bins.data(), n}, histogram.data());
  });
  const Buffer<std::uint16_t> fixed(ctx, std::vector<std::uint16_t>(n, 5));
  const Buffer<float> warped(ctx, std::vector<float>(n, 7.5f));
  const HistogramShape parzen{64, 64, Estimator::parzen};
  expect_bad_alloc([&] {
    JointHistogram(ctx, HistogramScheme::automatic, parzen, n)
        .count(ctx, SampledPair{fixed.data(), warped.data(), n}, histogram.data());
  });
}

TEST(OutOfMemory, InACorrelationRatio) {
  Context ctx = two_threads();
  const Geometry g = plain_geometry({40, 36, 30});
  const Volume<float> f(ctx, g, random_values(g.extent.count(), 1)),
      m(ctx, g, random_values(g.extent.count(), 2));
  CorrelationRatio ratio;
  ratio.read_ranges(ctx, f, m);
  ratio.prepare(ctx, {f, m, PointMap{}});
  const Buffer<double> cost(ctx, 1);
  expect_bad_alloc([&] {
    ratio.evaluate(ctx, {nullptr, g.extent}, {nullptr, g.extent}, cost.data());
  });
}

TEST(OutOfMemory, InALocalCorrelation) {
  Context ctx = two_threads();
  const Geometry g = plain_geometry({40, 36, 30});
  const Volume<float> f(ctx, g, random_values(g.extent.count(), 1)),
      m(ctx, g, random_values(g.extent.count(), 2));
  Lncc lncc;
  lncc.read_ranges(ctx, f, m);
  lncc.prepare(ctx, {f, m, PointMap{}});
  const Buffer<double> cost(ctx, 1);
  expect_bad_alloc([&] {
    lncc.evaluate(ctx, {nullptr, g.extent}, {nullptr, g.extent}, cost.data());
  });
}

TEST(OutOfMemory, InAPatchSearch) {
  Context ctx = two_threads();
  const int count = 600, length = 27, stride = PatchView::stride_of(length), m = 4;
  const Buffer<float> patches(ctx, random_values(std::size_t(count) * stride, 1));
  const Buffer<std::int32_t> index(ctx, std::size_t(count) * m);
  const Buffer<float> distance(ctx, std::size_t(count) * m);
  expect_bad_alloc([&] {
    find_similar(ctx, SearchStrategy::automatic, {patches.data(), count, length, stride}, 0, count,
                 {index.data(), distance.data(), m}, {});
  });
}

TEST(OutOfMemory, WhileAFileIsCompressed) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("freeflow_out_of_memory_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string out = (folder / "out.gz").string(), bytes(5 << 20, 'x');
  expect_bad_alloc([&] {
    GzipWriter writer(out, 2);
    writer.write(bytes.data(), bytes.size());
    writer.close();
  });
  EXPECT_FALSE(std::filesystem::exists(out + ".tmp"));
  std::filesystem::remove_all(folder);
}

namespace fs = std::filesystem;

void write_text(const fs::path& path, const char* text) { std::ofstream(path) << text; }

std::string text_in(const fs::path& path) {
  std::string text;
  std::ifstream(path) >> text;
  return text;
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

/// Takes back two files, one of which stands in the place of an older one, while all allocations
/// but the first so many fail. Whether any did.
bool undoing_fails(const fs::path& folder, bool placed, int allocations) {
  auto outputs = std::make_unique<OutputSet>((folder / "s_").string());
  write_text(outputs->file("before"), "new");
  write_text(outputs->file("more"), "new");
  if (placed) outputs->place();
  left = allocations;
  outputs.reset();
  return left.exchange(-1) == 0;
}

TEST(OutOfMemory, WhileASetOfFilesIsUndone) {
  const fs::path folder =
      fs::temp_directory_path() / ("freeflow_undone_" + std::to_string(getpid()));
  for (const bool placed : {false, true}) {
    bool failed = true;
    for (int allocations = 0; failed; ++allocations) {
      ASSERT_LT(allocations, 1000);
      fs::create_directory(folder);
      write_text(folder / "s_before", "old");
      failed = undoing_fails(folder, placed, allocations);
      if (failed) {
        const OutputSet next_run((folder / "s_").string());
      }
      const std::string before = text_in(folder / "s_before");
      std::set<std::string> names = names_in(folder);
      if (placed && failed) {  // either of the two states
        EXPECT_TRUE(before == "old" || before == "new") << before;
        names.erase("s_more");
      } else {
        EXPECT_EQ(before, "old");
      }
      EXPECT_EQ(names, std::set<std::string>{"s_before"});
      fs::remove_all(folder);
    }
  }
}

}  // namespace
}  // namespace freeflow
