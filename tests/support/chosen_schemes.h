// Which schemes a test goes through.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace freeflow::test {

/// Those of `infos` that FREEFLOW_TEST_SCHEMES names (separated by commas), for who works on one;
/// all where it is not set.
template <class Infos>
auto chosen(const Infos& infos) {
  std::vector<typename Infos::value_type> found;
  const char* words = std::getenv("FREEFLOW_TEST_SCHEMES");
  const std::string wanted = words ? "," + std::string(words) + "," : "";
  for (const auto& info : infos)
    if (!words || wanted.find("," + std::string(info.name) + ",") != std::string::npos)
      found.push_back(info);
  return found;
}

}  // namespace freeflow::test
