// Which schemes a test goes through.
#pragma once

#include <cstdlib>
#include <string_view>
#include <vector>

namespace freeflow::test {

/// Whether a list of words, separated by commas, has this one.
inline bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t comma = words.find(',');
    if (words.substr(0, comma) == word) return true;
    words.remove_prefix(comma == std::string_view::npos ? words.size() : comma + 1);
  }
  return false;
}

/// Those of `infos` that FREEFLOW_TEST_SCHEMES names (separated by commas), for who works on one;
/// all where it is not set.
template <class Infos>
auto chosen(const Infos& infos) {
  std::vector<typename Infos::value_type> found;
  const char* words = std::getenv("FREEFLOW_TEST_SCHEMES");
  for (const auto& info : infos)
    if (!words || lists(words, info.name)) found.push_back(info);
  return found;
}

}  // namespace freeflow::test
