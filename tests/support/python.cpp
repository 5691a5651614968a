#include "support/python.h"

#include <filesystem>

namespace freeflow::test {

std::string python() {
  return std::filesystem::exists(FREEFLOW_PYTHON) ? FREEFLOW_PYTHON : "python3";
}

}  // namespace freeflow::test
