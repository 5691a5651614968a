// Errors are exceptions with one sentence that names what is wrong and, where there is one, the
// mend.
#pragma once

#include <stdexcept>
#include <string>

namespace freeflow {

/// The caller's values cannot be used (sizes, options, geometry).
struct InvalidArgument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A device is missing, failed or ran out of memory.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file cannot be read or written.
struct IoError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The work itself failed: no overlap, nothing to register, diverged.
struct RegistrationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool condition, const std::string& sentence) {
  if (!condition) throw InvalidArgument(sentence);
}

}  // namespace freeflow
