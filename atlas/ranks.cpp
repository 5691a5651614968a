#include <freeflow/atlas/ranks.h>

#include <algorithm>
#include <cstring>

namespace freeflow {

WordRows gather(Ranks& ranks, const WordRows& own, std::size_t width) {
  std::vector<std::int64_t> counts(std::size_t(ranks.size()));
  counts[std::size_t(ranks.rank())] = std::int64_t(own.size());
  ranks.sum(counts);
  std::size_t before = 0, all = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (int(r) < ranks.rank()) before += std::size_t(counts[r]);
    all += std::size_t(counts[r]);
  }
  std::vector<std::int64_t> words(all * width);
  for (std::size_t i = 0; i < own.size(); ++i)
    std::copy(own[i].begin(), own[i].end(), words.begin() + std::ptrdiff_t((before + i) * width));
  ranks.sum(words);
  WordRows rows(all);
  for (std::size_t i = 0; i < all; ++i)
    rows[i].assign(words.begin() + std::ptrdiff_t(i * width),
                   words.begin() + std::ptrdiff_t((i + 1) * width));
  return rows;
}

WordWriter& WordWriter::put(const std::string& text) {
  const std::size_t bytes = std::min(text.size(), text_bytes);
  put(std::int64_t(bytes));
  const std::size_t at = words_.size();
  words_.resize(at + text_bytes / 8);
  std::memcpy(words_.data() + at, text.data(), bytes);
  return *this;
}

std::string WordReader::text() {
  const std::size_t bytes = std::size_t(integer());
  std::string text(bytes, ' ');
  std::memcpy(text.data(), words_.data() + at_, bytes);
  at_ += WordWriter::text_bytes / 8;
  return text;
}

}  // namespace freeflow
