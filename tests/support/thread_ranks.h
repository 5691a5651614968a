// Processes of one template as threads of one.
#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include <freeflow/atlas/ranks.h>

namespace freeflow::test {

class ThreadRanks : public Ranks {
 public:
  struct Shared {
    explicit Shared(int size) : barrier(size), words(std::size_t(size)) {}
    std::barrier<> barrier;
    std::vector<std::span<std::int64_t>> words;
  };
  ThreadRanks(int rank, Shared& shared) : rank_(rank), shared_(shared) {}
  int rank() const override { return rank_; }
  int size() const override { return int(shared_.words.size()); }
  void sum(std::span<std::int64_t> words) override {
    shared_.words[std::size_t(rank_)] = words;
    shared_.barrier.arrive_and_wait();
    std::vector<std::int64_t> total(words.size());
    for (const std::span<std::int64_t> other : shared_.words)
      for (std::size_t i = 0; i < total.size(); ++i)
        total[i] = std::int64_t(std::uint64_t(total[i]) + std::uint64_t(other[i]));
    shared_.barrier.arrive_and_wait();
    std::copy(total.begin(), total.end(), words.begin());
  }

 private:
  int rank_;
  Shared& shared_;
};

inline void run_on_ranks(int size, const std::function<void(Ranks&)>& work) {
  ThreadRanks::Shared shared(size);
  std::vector<std::jthread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      ThreadRanks ranks(r, shared);
      work(ranks);
    });
}

}  // namespace freeflow::test
