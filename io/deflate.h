// Private to io: the bytes of one piece of a gzip member.
#pragma once

#include <cstddef>
#include <vector>

namespace freeflow {

/// Deflates or stores `count` bytes at a level of Compression. `out` becomes blocks that end on a
/// byte boundary, none of them the last of a member (RFC 1951): pieces may be joined as they are.
/// It is a function of the bytes and the level alone. Throws std::bad_alloc.
void deflate(const unsigned char* bytes, std::size_t count, int level,
             std::vector<unsigned char>& out);

}  // namespace freeflow
