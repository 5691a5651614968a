#include <apps/threads.h>

#include <omp.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <freeflow/core/error.h>

namespace freeflow::apps {

void require_threads(int asked) {
  require(asked >= 0 && asked <= most_threads,
          "--threads must lie between 0 and " + std::to_string(most_threads));
  const int beside_this = (asked > 0 ? asked : omp_get_max_threads()) - 1;
  std::promise<void> all_there;
  const std::shared_future<void> go = all_there.get_future().share();
  std::vector<std::jthread> threads;
  try {
    for (int i = 0; i < beside_this; ++i) threads.emplace_back([go] { go.wait(); });
  } catch (...) {
    all_there.set_value();
    throw;
  }
  all_there.set_value();
  threads.clear();
  if (asked > 0) omp_set_num_threads(asked);  // for regions that know no context, as in reading
  // OpenMP keeps them for this thread: later, when images have taken the memory, they might not
  // start.
  std::atomic<int> started = 0;
#pragma omp parallel num_threads(beside_this + 1)
  ++started;
}

}  // namespace freeflow::apps
