// What validate() says of options that cannot be.
#pragma once

#include <string>

#include <freeflow/core/error.h>

namespace freeflow::test {

/// The sentence with which default options are refused once `change` has been made to them; empty
/// where they are not.
template <class Options, class Change>
std::string sentence_of(Change&& change) {
  Options options;
  change(options);
  try {
    options.validate();
  } catch (const InvalidArgument& e) {
    return e.what();
  }
  return {};
}

}  // namespace freeflow::test
