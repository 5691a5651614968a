// The Python that tests call.
#pragma once

#include <string>

namespace freeflow::test {

/// The one that CMake found, which has the readers in CI; in a package whatever the machine has.
/// Its path stands in one source, so that a compiler cache knows all others in any clone.
std::string python();

}  // namespace freeflow::test
