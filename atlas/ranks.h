// Several processes that build one template together, as the library sees them: they add up
// integers, and integers add up to the same bits whatever the number of processes. The library has
// one process; apps/atlas/ has those of MPI.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace freeflow {

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  /// Replaces every word by its sum over all processes (modulo 2^64). All call it, in the same
  /// order and with the same number of words.
  virtual void sum(std::span<std::int64_t>) {}
};

/// Rows of words, all of one width, that are put together from all processes.
using WordRows = std::vector<std::vector<std::int64_t>>;

/// Every process' rows, one process after the other.
WordRows gather(Ranks& ranks, const WordRows& own, std::size_t width);

/// A row of words out of numbers and text, and back in the same order.
class WordWriter {
 public:
  WordWriter& put(std::int64_t value) {
    words_.push_back(value);
    return *this;
  }
  WordWriter& put(double value) { return put(std::bit_cast<std::int64_t>(value)); }
  /// At most text_bytes; longer text is cut.
  WordWriter& put(const std::string& text);
  std::vector<std::int64_t> take() { return std::move(words_); }

  static constexpr std::size_t text_bytes = 1024, text_words = 1 + text_bytes / 8;

 private:
  std::vector<std::int64_t> words_;
};

class WordReader {
 public:
  explicit WordReader(std::span<const std::int64_t> words) : words_(words) {}
  std::int64_t integer() { return words_[at_++]; }
  double number() { return std::bit_cast<double>(integer()); }
  std::string text();

 private:
  std::span<const std::int64_t> words_;
  std::size_t at_ = 0;
};

}  // namespace freeflow
