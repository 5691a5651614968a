#include <freeflow/atlas/content_key.h>

#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace freeflow {

namespace {

constexpr std::uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9;
constexpr std::size_t stripe = 32;

std::uint64_t round(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * p2, 31) * p1;
}

std::uint64_t avalanche(std::uint64_t h) {
  h = (h ^ h >> 33) * p2;
  h = (h ^ h >> 29) * p3;
  return h ^ h >> 32;
}

void mix(std::array<std::uint64_t, 4>& lanes, const std::byte* bytes) {
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + 8 * i, sizeof word);
    lanes[i] = round(lanes[i], word);
  }
}

}  // namespace

std::string ContentKey::text() const {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint64_t half : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4) out += digits[half >> shift & 15];
  return out;
}

ContentKey content_key(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, 4> lanes{p1 + p2, p2, 0, 0 - p1};
  std::size_t at = 0;
  for (; at + stripe <= bytes.size(); at += stripe) mix(lanes, bytes.data() + at);
  std::array<std::byte, stripe> last{};
  if (at < bytes.size()) std::memcpy(last.data(), bytes.data() + at, bytes.size() - at);
  mix(lanes, last.data());
  ContentKey key{bytes.size(), ~std::uint64_t(bytes.size())};
  for (std::size_t i = 0; i < 4; ++i) {
    key.high = (key.high ^ round(0, lanes[i])) * p1 + p3;
    key.low = (key.low ^ round(p3, lanes[3 - i])) * p2 + p1;
  }
  return {avalanche(key.high), avalanche(key.low)};
}

ContentKey derived_key(std::string_view what, std::initializer_list<ContentKey> from) {
  std::vector<std::byte> bytes(what.size() + 16 * from.size());
  if (!what.empty()) std::memcpy(bytes.data(), what.data(), what.size());
  std::size_t at = what.size();
  for (const ContentKey& key : from)
    for (const std::uint64_t half : {key.high, key.low}) {
      std::memcpy(bytes.data() + at, &half, sizeof half);
      at += sizeof half;
    }
  return content_key(std::span<const std::byte>(bytes));
}

}  // namespace freeflow
