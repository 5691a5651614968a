// What a file holds, as a few characters: to see whether something was made from the same bytes.
#pragma once

#include <string>

namespace freeflow {

/// The file's size and the CRC-64 of its bytes, such as "82582427-0123456789abcdef"; of an image
/// whose header and voxels are two files, of both. Files that changed by accident differ; who wants
/// to deceive can. Throws IoError when the file cannot be read.
std::string content_hash(const std::string& path);

}  // namespace freeflow
