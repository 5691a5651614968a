// Memory that ends: each allocation of small registrations fails once, by itself or with all that
// follow, on the host and on the device. Each failure ends in one sentence, loses nothing, and the
// next registration gives the usual bits. This program replaces operator new and, by the linker's
// --wrap, the library's calls of aligned_alloc, malloc and the GPU's pool; so it is one of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <freeflow/denoise/nonlocal_means.h>
#include <freeflow/registration/register_images.h>

#include "support/devices.h"
#include "support/phantoms.h"

namespace {

enum class Fails { once, from_then_on };

/// What is counted, and which of it fails.
struct Watch {
  bool device_alone = false;  ///< else operator new and malloc too
  long fails_at = 0;          ///< counted from 1; 0: none
  Fails fails = Fails::once;
  std::atomic<bool> on = false;
  std::atomic<long> made = 0, refused = 0;
  std::atomic<long> live = 0;  ///< pieces of operator new, whether watched or not
};
constinit Watch watch;

bool refuse(bool of_device) {
  if (!watch.on || (watch.device_alone && !of_device)) return false;
  const long n = ++watch.made;
  const bool now = watch.fails_at > 0 &&
                   (watch.fails == Fails::once ? n == watch.fails_at : n >= watch.fails_at);
  watch.refused += now;
  return now;
}

}  // namespace

// The linker's names (--wrap).
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __wrap_malloc(std::size_t bytes) { return refuse(false) ? nullptr : __real_malloc(bytes); }
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return refuse(true) ? nullptr : __real_aligned_alloc(alignment, bytes);
}
// freeflow::cuda_runtime::allocate(pool, stream, bytes): more than any GPU has is refused by the
// runtime itself.
void* __real__ZN8freeflow12cuda_runtime8allocateEPvS1_m(void* pool, void* stream,
                                                        std::size_t bytes);
void* __wrap__ZN8freeflow12cuda_runtime8allocateEPvS1_m(void* pool, void* stream,
                                                        std::size_t bytes) {
  return __real__ZN8freeflow12cuda_runtime8allocateEPvS1_m(
      pool, stream, refuse(true) ? std::size_t(1) << 50 : bytes);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace {
void* counted(void* pointer) {
  if (!pointer) throw std::bad_alloc{};
  ++watch.live;
  return pointer;
}
void release(void* pointer) noexcept {
  watch.live -= pointer != nullptr;
  std::free(pointer);
}
}  // namespace

// Out of line, or g++ takes malloc and delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return counted(refuse(false) ? nullptr : __real_malloc(bytes ? bytes : 1));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const std::size_t a = std::size_t(alignment);
  return counted(refuse(false) ? nullptr : __real_aligned_alloc(a, (bytes + a) / a * a));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* p) noexcept { release(p); }
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { release(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { release(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  release(p);
}

namespace freeflow {
namespace {

using namespace test;

using Bits = std::vector<double>;
using Work = std::function<Bits(Context&)>;

/// While it lives, allocations are counted and the wanted one fails.
struct Watching {
  Watching(bool device_alone, long fails_at, Fails fails) {
    watch.device_alone = device_alone;
    watch.fails_at = fails_at;
    watch.fails = fails;
    watch.made = watch.refused = 0;
    watch.on = true;
  }
  ~Watching() { watch.on = false; }
  Watching(const Watching&) = delete;
};

bool every_allocation() { return std::getenv("FREEFLOW_EVERY_ALLOCATION") != nullptr; }

/// How work ends: empty where it was done, else the sentence.
std::string ending(Context& ctx, const Work& work, Bits& bits) {
  try {
    bits = work(ctx);
    return "";
  } catch (const DeviceError& e) {
    watch.on = false;  // the sentence is copied
    return e.what();
  } catch (const std::bad_alloc&) {
    watch.on = false;
    return "out of memory";  // what the programs make of it
  }
}

/// Fails each allocation of some work: all of the first ten, then ever fewer (all of them where
/// FREEFLOW_EVERY_ALLOCATION is set).
void expect_failures_survived(Context& ctx, bool device_alone, const Work& work) {
  Bits expected, again;
  for (int warm = 0; warm < 2; ++warm) ASSERT_EQ(ending(ctx, work, expected), "");
  long made = 0;
  {
    const Watching count(device_alone, 0, Fails::once);
    ASSERT_EQ(ending(ctx, work, again), "");
    made = watch.made;
  }
  ASSERT_EQ(again, expected);
  ASSERT_GT(made, 20) << "hardly anything was allocated: this tests nothing";
  const std::size_t in_use = ctx.statistics().bytes_in_use;
  // Several GPUs give back what they keep, and go on.
  const bool keeps = ctx.group() != nullptr;
  long failures = 0, survived = 0, sizes_said = 0;
  for (const Fails fails : {Fails::once, Fails::from_then_on})
    for (long n = 1; n <= made; n += every_allocation() ? 1 : 1 + n / 10) {
      SCOPED_TRACE("allocation " + std::to_string(n) + " of " + std::to_string(made));
      Bits bits;
      std::string sentence;
      const long live = watch.live;
      {
        const Watching failing(device_alone, n, fails);
        try {
          sentence = ending(ctx, work, bits);
        } catch (const std::exception& e) {
          watch.on = false;
          ADD_FAILURE() << "another error: " << e.what();
        }
        ASSERT_GE(watch.refused, 1);
      }
      ++failures;
      // std::stable_sort and the like do without what they do not get.
      if (sentence.empty()) {
        EXPECT_EQ(bits, expected) << "the failure was swallowed";
        survived += keeps;
      } else {
        EXPECT_NE(sentence.find("out of "), std::string::npos) << sentence;
      }
      sizes_said += sentence.find("more") != std::string::npos;
      EXPECT_EQ(ctx.statistics().bytes_in_use, in_use) << "memory of the device is lost";
      std::string().swap(sentence);
      Bits().swap(bits);
      if (keeps)
        EXPECT_LE(watch.live, live) << "memory of the host is lost";
      else
        EXPECT_EQ(watch.live, live) << "memory of the host is lost";
      if (failures % 8 == 0) {
        ASSERT_EQ(ending(ctx, work, again), "");
        ASSERT_EQ(again, expected);
      }
    }
  ASSERT_EQ(ending(ctx, work, again), "");
  EXPECT_EQ(again, expected);
  if (device_alone) {
    EXPECT_GT(sizes_said, (failures - survived) / 2) << "how much more was needed";
  }
  testing::Test::RecordProperty("allocations", int(made));
  testing::Test::RecordProperty("refused", int(failures));
}

/// Two small images, the same ball moved and bent.
struct Pair {
  explicit Pair(Context& ctx) {
    Geometry g = oblique_geometry({16, 15, 14}, {2.4, 2.5, 2.7});
    g.origin.setZero();
    g.origin = -g.center();
    fixed = sample_world(ctx, g, [](const Eigen::Vector3d& p) {
      return head(p + Eigen::Vector3d(1.5, std::sin(0.1 * p.x()), -1), 14);
    });
    moving = sample_world(ctx, g, [](const Eigen::Vector3d& p) { return head(p, 14); });
  }
  Volume<float> fixed, moving;
};

Bits bits_of(Context& ctx, const RegistrationResult& r) {
  const std::vector<float> u = r.displacement.to_host(ctx);
  Bits bits(u.begin(), u.end());
  if (r.inverse) {
    const std::vector<float> v = r.inverse->field.to_host(ctx);
    bits.insert(bits.end(), v.begin(), v.end());
  }
  bits.insert(bits.end(), r.affine.data(), r.affine.data() + 16);
  return bits;
}

template <class Model>
Work nonrigid(const Pair& pair, Model model, const RegistrationOptions& stages) {
  model.levels = 2;
  model.iterations = {2};
  model.with_inverse = true;
  RegistrationOptions options = stages;
  options.model = model;
  return [&pair, options](Context& ctx) {
    return bits_of(ctx, register_images(ctx, pair.fixed, pair.moving, options));
  };
}

RegistrationOptions alone() { return {FfdOptions{}, std::nullopt, StartKind::none}; }

template <class Model>
Model compared_by(SimilarityKind kind) {
  Model model;
  model.similarity.kind = kind;
  return model;
}

class MemoryEnds : public OnDevice {
 protected:
  /// One thread: what threads of OpenMP keep for themselves is then the same in each run.
  Context one{GetParam(), 1};
  Pair pair{one};

  /// On the CPU of every operator new and malloc of the library too, on a GPU of its own memory.
  void expect_survived(const Work& work) {
    expect_failures_survived(one, GetParam().is_cuda(), work);
  }
};
FREEFLOW_ON_EVERY_DEVICE(MemoryEnds);

TEST_P(MemoryEnds, InAFreeFormDeformation) {
  const Work work = nonrigid(pair, FfdOptions{}, alone());
  expect_survived(work);
  expect_failures_survived(one, true, work);
}

TEST_P(MemoryEnds, InAFlow) {
  expect_survived(nonrigid(pair, compared_by<FlowOptions>(SimilarityKind::cr), alone()));
}

TEST_P(MemoryEnds, InASymmetricFlow) {
  FlowOptions flow = compared_by<FlowOptions>(SimilarityKind::ssd);
  flow.symmetric = true;
  flow.kl = 0.01;
  expect_survived(nonrigid(pair, flow, alone()));
}

TEST_P(MemoryEnds, InAFluid) {
  FluidOptions fluid = compared_by<FluidOptions>(SimilarityKind::ssd);
  fluid.velocity = VelocityKind::navier;
  expect_survived(nonrigid(pair, fluid, alone()));
}

TEST_P(MemoryEnds, InDemons) {
  expect_survived(nonrigid(pair, compared_by<DemonsOptions>(SimilarityKind::mind), alone()));
}

TEST_P(MemoryEnds, InADiscreteStart) {
  RegistrationOptions stages = alone();
  stages.start = StartKind::discrete;
  stages.discrete_start.voxels = 16;
  expect_survived(nonrigid(pair, compared_by<FlowOptions>(SimilarityKind::ssd), stages));
}

TEST_P(MemoryEnds, InALinearRegistration) {
  LinearOptions options;
  options.levels = 1;
  options.iterations = {3};
  for (const LinearSearch search : {LinearSearch::gradient, LinearSearch::powell}) {
    options.search = search;
    options.refinement =
        search == LinearSearch::gradient ? LinearRefinement::blocks : LinearRefinement::none;
    expect_survived([&](Context& ctx) {
      const LinearResult r = register_linear(ctx, pair.fixed, pair.moving, options);
      return Bits(r.affine.data(), r.affine.data() + 16);
    });
  }
}

TEST_P(MemoryEnds, InASurfaceThatIsDenoised) {
  Geometry g = plain_geometry({14, 14, 14});
  const Volume<float> distance(one, g, voxelwise(g.extent, [](int x, int y, int z) {
                                 return (Eigen::Vector3d(x, y, z).array() - 6.4).matrix().norm() -
                                        4;
                               }));
  NonlocalMeansOptions options;
  options.band = 1;
  options.neighbours = 8;
  options.iterations = 2;
  expect_survived([&](Context& ctx) {
    const std::vector<float> d = nonlocal_means(ctx, distance, options).distance.to_host(ctx);
    return Bits(d.begin(), d.end());
  });
}

/// A context of its own, images included: nothing of it may be left.
TEST_P(MemoryEnds, BeforeThereIsAnything) {
  if (GetParam().is_cuda()) GTEST_SKIP() << "the CUDA runtime's own memory is not watched";
  expect_failures_survived(one, false, [](Context&) {
    Context own({}, 1);
    const Pair images(own);
    LinearOptions options;
    options.levels = 1;
    options.iterations = {1};
    options.search = LinearSearch::gradient;
    const LinearResult r = register_linear(own, images.fixed, images.moving, options);
    return Bits(r.affine.data(), r.affine.data() + 16);
  });
}

/// On several threads a failure within an OpenMP region reaches the caller too.
TEST(MemoryEndsOnThreads, InAFreeFormDeformation) {
  Context three({}, 3);
  const Pair pair(three);
  const Work work = nonrigid(pair, FfdOptions{}, alone());
  Bits expected, bits;
  ASSERT_EQ(ending(three, work, expected), "");
  for (long n = 1;; n += 1 + n / 6) {
    const Watching failing(false, n, Fails::from_then_on);
    const std::string sentence = ending(three, work, bits);
    watch.on = false;
    if (watch.refused == 0) break;
    EXPECT_NE(sentence.find("out of "), std::string::npos) << n << ": " << sentence;
  }
  ASSERT_EQ(ending(three, work, bits), "");
  EXPECT_EQ(bits, expected);
}

}  // namespace
}  // namespace freeflow
