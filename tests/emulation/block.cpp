#include "block.h"

#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace emulation {

namespace {

namespace context = boost::context;

constexpr std::size_t stack_bytes = 256 << 10, most_shared = 232448, alignment = 128,
                      guard_bytes = 1024;  // behind a block's shared memory, where nobody writes
constexpr unsigned char untouched = 0xA5;
constexpr unsigned warp_size = 32;

enum class State { ready, at_barrier, in_warp, done };

struct Warp {
  std::uint64_t given[warp_size];
  std::uint64_t taken[warp_size][warp_size];  // what the group whose lowest lane this is gave
};

struct Written {
  unsigned thread, interval;
};

/// One fiber per thread of a block; a fiber lives through many blocks.
class Block {
 public:
  void run(dim3 block, dim3 blocks, dim3 threads, std::size_t shared_bytes,
           const std::function<void()>& body);

  bool wait_for_block(bool value) {
    const unsigned me = place.index;
    values_[me] = value;
    wait(me, State::at_barrier);
    return any_;
  }

  const std::uint64_t* exchange(unsigned mask, std::uint64_t given) {
    const unsigned me = place.index, lane = me % warp_size;
    if (!(mask >> lane & 1)) throw std::logic_error("a lane that its mask does not name");
    Warp& warp = warps_[me / warp_size];
    warp.given[lane] = given;
    masks_[me] = mask;
    wait(me, State::in_warp);
    return warp.taken[std::countr_zero(present(me, mask))];
  }

  void write_alone(const void* word) {
    const Written now{place.index, interval_};
    const auto [last, first] = written_.try_emplace(word, now);
    if (!first && last->second.interval == now.interval && last->second.thread != now.thread)
      throw std::logic_error("two threads write a word between two barriers without an atomic");
    last->second = now;
  }

  unsigned char* shared() {
    unsigned char* at = shared_.get();
    return at + (alignment - reinterpret_cast<std::uintptr_t>(at) % alignment) % alignment;
  }

 private:
  void wait(unsigned me, State state) {
    states_[me] = state;
    back_[me] = std::move(back_[me]).resume();
    if (failed_) throw std::logic_error(failed_);
  }

  /// The lanes of a mask that the block has.
  unsigned present(unsigned thread, unsigned mask) const {
    const unsigned first = thread / warp_size * warp_size,
                   lanes = std::min(warp_size, count_ - first);
    return lanes == warp_size ? mask : mask & ((1u << lanes) - 1);
  }

  void start(unsigned i);
  void resume(unsigned i);
  bool release_warp(unsigned first);
  void run_warp(unsigned first, bool forward);
  bool release_block();

  std::vector<context::fiber> fibers_, back_;
  std::vector<State> states_;
  std::vector<unsigned> masks_;
  std::vector<char> values_;
  std::vector<Warp> warps_;
  std::unique_ptr<unsigned char[]> shared_{
      new unsigned char[most_shared + alignment + guard_bytes]};
  std::unordered_map<const void*, Written> written_;
  const std::function<void()>* body_ = nullptr;
  std::exception_ptr error_;
  const char* failed_ = nullptr;
  unsigned count_ = 0, runs_ = 0, interval_ = 0;  // interval: between two barriers
  bool any_ = false;
};

Block& this_block() {
  thread_local Block block;
  return block;
}

void Block::start(unsigned i) {
  fibers_[i] = context::fiber(std::allocator_arg, context::fixedsize_stack(stack_bytes),
                              [this, i](context::fiber&& main) {
                                back_[i] = std::move(main);
                                for (;;) {
                                  try {
                                    (*body_)();
                                  } catch (...) {
                                    if (!error_) error_ = std::current_exception();
                                  }
                                  states_[i] = State::done;
                                  back_[i] = std::move(back_[i]).resume();
                                }
                                return std::move(back_[i]);
                              });
}

void Block::resume(unsigned i) {
  place.index = i;
  place.thread = {i % place.threads.x, i / place.threads.x % place.threads.y,
                  i / (place.threads.x * place.threads.y)};
  fibers_[i] = std::move(fibers_[i]).resume();
}

bool Block::release_warp(unsigned first) {
  bool released = false;
  Warp& warp = warps_[first / warp_size];
  for (unsigned i = first; i < std::min(first + warp_size, count_); ++i) {
    if (states_[i] != State::in_warp) continue;
    const unsigned group = present(i, masks_[i]);
    bool complete = true;
    for (unsigned lane = 0; lane < warp_size; ++lane)
      if (group >> lane & 1)
        complete &=
            states_[first + lane] == State::in_warp && present(i, masks_[first + lane]) == group;
    if (!complete) continue;
    std::memcpy(warp.taken[std::countr_zero(group)], warp.given, sizeof warp.given);
    for (unsigned lane = 0; lane < warp_size; ++lane)
      if (group >> lane & 1) states_[first + lane] = State::ready;
    released = true;
  }
  return released;
}

void Block::run_warp(unsigned first, bool forward) {
  const unsigned lanes = std::min(warp_size, count_ - first);
  for (unsigned k = 0; k < lanes; ++k) {
    const unsigned i = first + (forward ? k : lanes - 1 - k);
    if (states_[i] == State::ready) resume(i);
  }
}

bool Block::release_block() {
  bool any = false, waits = false;
  for (unsigned i = 0; i < count_; ++i) {
    if (states_[i] == State::done) continue;
    if (states_[i] != State::at_barrier) return false;
    waits = true;
    any |= values_[i];
  }
  for (unsigned i = 0; waits && i < count_; ++i)
    if (states_[i] == State::at_barrier) states_[i] = State::ready;
  any_ = any;
  interval_ += waits;
  return waits;
}

void Block::run(dim3 block, dim3 blocks, dim3 threads, std::size_t shared_bytes,
                const std::function<void()>& body) {
  count_ = threads.x * threads.y * threads.z;
  for (unsigned i = unsigned(fibers_.size()); i < count_; ++i) {
    fibers_.emplace_back();
    back_.emplace_back();
    start(i);
  }
  states_.assign(count_, State::ready);
  masks_.assign(count_, 0);
  values_.assign(count_, 0);
  warps_.resize((count_ + warp_size - 1) / warp_size);
  std::memset(shared(), untouched, shared_bytes + guard_bytes);
  written_.clear();
  body_ = &body;
  error_ = nullptr;
  failed_ = nullptr;
  place = {{}, block, threads, blocks, 0};
  const unsigned warps = unsigned(warps_.size()), order = runs_++;
  const bool alone = order & 2;  // warps run on to the block's next barrier, or wait for each other
  for (bool forward = order & 1;; forward = !forward) {
    bool released = false;
    for (unsigned w = 0; w < warps; ++w) {
      const unsigned first = (forward ? w : warps - 1 - w) * warp_size;
      run_warp(first, forward);
      while (alone && release_warp(first)) run_warp(first, forward);
    }
    if (std::all_of(states_.begin(), states_.end(), [](State s) { return s == State::done; }))
      break;
    for (unsigned first = 0; first < count_; first += warp_size) released |= release_warp(first);
    if (release_block() || released) continue;
    // Everyone is woken to leave: a stack that is left as it is would keep what it holds.
    failed_ = "threads wait for others that never come to their barrier";
    for (State& state : states_)
      if (state != State::done) state = State::ready;
  }
  if (error_) std::rethrow_exception(error_);
  const unsigned char* guard = shared() + shared_bytes;
  if (!std::all_of(guard, guard + guard_bytes, [](unsigned char c) { return c == untouched; }))
    throw std::logic_error("a block wrote beyond its shared memory");
}

}  // namespace

constinit thread_local Place place;

unsigned char* dynamic_shared() { return this_block().shared(); }

void write_alone(const void* word) { this_block().write_alone(word); }

bool wait_for_block(bool value) { return this_block().wait_for_block(value); }

const std::uint64_t* exchange(unsigned mask, std::uint64_t given) {
  return this_block().exchange(mask, given);
}

void run_grid(Threads kind, dim3 blocks, dim3 threads, std::size_t shared_bytes,
              const std::function<void()>& thread) {
  if (threads.x * threads.y * threads.z > 1024 || shared_bytes > most_shared || blocks.y > 65535 ||
      blocks.z > 65535)
    throw std::logic_error("a launch that no GPU takes");
  const long long count = 1LL * blocks.x * blocks.y * blocks.z;
  const auto block = [&](long long b) {
    return dim3(unsigned(b % blocks.x), unsigned(b / blocks.x % blocks.y),
                unsigned(b / blocks.x / blocks.y));
  };
  const auto alone = [&](long long b) {
    place = {{}, block(b), threads, blocks, 0};
    for (Place& p = place; p.index < threads.x * threads.y * threads.z; ++p.index) {
      p.thread = {p.index % threads.x, p.index / threads.x % threads.y,
                  p.index / (threads.x * threads.y)};
      thread();
    }
  };
  if (kind == Threads::independent) {
#pragma omp parallel for schedule(dynamic)
    for (long long b = 0; b < count; ++b) alone(b);
  } else {
    // No GPU promises an order: the blocks of half of the launches run from the last to the first,
    // of no half that has a period, which the launches of an operation might share.
    thread_local unsigned launches = 0;
    const bool backwards = std::popcount(launches++) % 2;
    for (long long b = 0; b < count; ++b)
      this_block().run(block(backwards ? count - 1 - b : b), blocks, threads, shared_bytes, thread);
  }
}

}  // namespace emulation
