#include <freeflow/io/content_hash.h>

#include <isa-l/crc64.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/raw_data_check.h>

namespace freeflow {

namespace fs = std::filesystem;

namespace {

std::string hash_of_bytes(const fs::path& path) {
  size_of_readable_file(path.string());
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(std::size_t(1) << 20);
  std::uint64_t crc = 0, size = 0;
  while (file) {
    file.read(block.data(), std::streamsize(block.size()));
    const auto count = std::uint64_t(file.gcount());
    crc = crc64_ecma_refl(crc, reinterpret_cast<const unsigned char*>(block.data()), count);
    size += count;
  }
  if (!file.eof()) fail_reading(path.string(), "the disk or the connection to it failed");
  char text[64];
  std::snprintf(text, sizeof text, "%llu-%016llx", static_cast<unsigned long long>(size),
                static_cast<unsigned long long>(crc));
  return text;
}

/// The files that an image has beside the one that names it.
std::vector<std::string> others_of_image(const std::string& path) {
  std::vector<std::string> others;
  for (const std::string named : {".hdr", ".img.gz", ".img"}) {
    if (!has_extension(path, named)) continue;
    const std::string stem = path.substr(0, path.size() - named.size());
    for (const std::string other : {".hdr", ".img", ".img.gz", ".HDR", ".IMG", ".IMG.GZ"})
      if (stem + other != path && fs::exists(stem + other)) others.push_back(stem + other);
    return others;
  }
  if (!has_extension(path, ".mhd") && !has_extension(path, ".nhdr")) return others;
  try {
    const std::string data = raw_data_file(path, format_to_read(path));
    if (data != path && fs::exists(data)) others.push_back(data);
  } catch (const IoError&) {  // who reads it says what is wrong
  }
  return others;
}

}  // namespace

std::string content_hash(const std::string& path) {
  std::string hash = hash_of_bytes(path);
  for (const std::string& other : others_of_image(path))
    hash.append("+").append(hash_of_bytes(other));
  return hash;
}

}  // namespace freeflow
