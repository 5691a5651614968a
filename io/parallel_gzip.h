// Compresses a file on all threads into one ordinary gzip member, as pigz does: chunks are deflated
// by themselves and joined.
#pragma once

#include <string>

namespace freeflow {

/// Writes `source` compressed to `target` (made under a temporary name beside it, then renamed).
/// `threads` 0: all that OpenMP offers. The bytes do not depend on the number of threads. Throws
/// IoError.
void gzip_file(const std::string& source, const std::string& target, int threads = 0);

}  // namespace freeflow
