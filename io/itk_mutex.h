// Private to io: images and transforms are read and written on several threads at once, but ITK
// sets up, asks and extends its list of factories without a lock, at every New among others, and
// its NIfTI reader keeps the last file's name in a static string.
#pragma once

#include <mutex>

namespace freeflow {

/// To be held where ITK makes an object or reads a header.
inline std::mutex& itk_mutex() {
  static std::mutex one_at_a_time;
  return one_at_a_time;
}

}  // namespace freeflow
