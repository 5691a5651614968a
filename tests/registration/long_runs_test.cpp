// Any number of threads, several contexts at once, and a process that registers for days.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <freeflow/registration/register_images.h>

#include "support/devices.h"
#include "support/pipelines.h"
#include "support/registrations.h"

namespace freeflow {
namespace {

using namespace test;

TEST(LongRuns, AnyNumberOfThreadsGivesTheSameBits) {
  const Phantom p = usual_phantom(false);
  for (const Named& pipeline : pipelines()) {
    Context one({}, 1);
    const Bits expected = pipeline.run(one, p);
    for (const int threads : {2, 3, 7, 16}) {
      Context several({}, threads);
      EXPECT_EQ(pipeline.run(several, p), expected) << pipeline.name << ", " << threads;
    }
  }
}

Phantom small_phantom() {
  return Phantom(centred(oblique_geometry({16, 15, 12}, {3.4, 3.3, 4.4})),
                 centred(oblique_geometry({15, 16, 13}, {3.5, 3.2, 4.2})), false);
}

class LongRunsOn : public OnDevice {};
FREEFLOW_ON_EVERY_DEVICE(LongRunsOn);

TEST_P(LongRunsOn, EightThreadsWithAContextEachGiveWhatOneGives) {
  const Phantom p = small_phantom();
  const std::vector<Named> all = pipelines();
  std::vector<Bits> expected, found(8);
  for (std::size_t i = 0; i < found.size(); ++i) {
    Context own(GetParam(), 2);
    expected.push_back(all[i].run(own, p));
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] {
      for (int again = 0; again < 2; ++again) {
        Context own(GetParam(), 2);
        found[i] = all[i].run(own, p);
      }
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], expected[i]) << all[i].name;
}

/// What a process holds.
struct Held {
  std::size_t heap = 0, resident = 0, files = 0, threads = 0;
  static Held now() {
    Held h;
    const struct mallinfo2 info = mallinfo2();
    h.heap = info.uordblks + info.hblkhd;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    h.resident = pages * std::size_t(sysconf(_SC_PAGESIZE));
    const auto entries = [](const char* folder) {
      return std::size_t(std::distance(std::filesystem::directory_iterator(folder), {}));
    };
    h.files = entries("/proc/self/fd");
    h.threads = entries("/proc/self/task");
    return h;
  }
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // freed memory waits, and the heap is not glibc's
#else
constexpr bool sanitized = false;
#endif

/// FREEFLOW_REGISTRATIONS: how many.
TEST_P(LongRunsOn, ManyRegistrationsInOneProcessDoNotGrow) {
  const char* wanted = std::getenv("FREEFLOW_REGISTRATIONS");
  const int registrations = wanted ? std::atoi(wanted) : sanitized ? 60 : 300;
  Phantom p = small_phantom(), far = p;
  far.moving.origin.x() += 1000;
  FlowOptions flow = compared_by<FlowOptions>(SimilarityKind::ssd);
  FfdOptions ffd = compared_by<FfdOptions>(SimilarityKind::lncc);
  const Named models[] = {nonrigid("flow", flow), nonrigid("ffd", ffd),
                          linear("gradient", LinearSearch::gradient, SimilarityKind::nmi)};
  Context ctx(GetParam(), 2);
  std::vector<Bits> expected;
  for (const Named& model : models) expected.push_back(model.run(ctx, p));
  Held before;
  for (int i = 0; i < registrations; ++i) {
    if (i == registrations / 5) before = Held::now();
    const std::size_t which = std::size_t(i) % std::size(models);
    if (i % 7 == 3) {  // those that fail leave nothing either
      EXPECT_THROW(models[0].run(ctx, far), RegistrationError);
    } else if (i % 5 == 1) {
      Context own(GetParam(), 1 + i % 3);
      ASSERT_EQ(models[which].run(own, p), expected[which]);
    } else {
      ASSERT_EQ(models[which].run(ctx, p), expected[which]);
    }
  }
  const Held after = Held::now();
  EXPECT_EQ(ctx.statistics().bytes_in_use, 0u);
  EXPECT_EQ(after.files, before.files);
  // OpenMP keeps as many as the last region took: of the contexts here, three at most.
  EXPECT_LE(after.threads, std::max<decltype(after.threads)>(before.threads, 3));
  if (sanitized) return;
  EXPECT_LE(after.heap, before.heap + (64 << 10)) << "bytes that nobody freed";
  EXPECT_LE(after.resident, before.resident + (4 << 20));
}

}  // namespace
}  // namespace freeflow
