#include <freeflow/io/content_hash.h>

#include <isa-l/crc64.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include <freeflow/io/file_checks.h>

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

}  // namespace

std::string content_hash(const std::string& path) {
  std::string hash = hash_of_bytes(path);
  if (has_extension(path, ".hdr") || has_extension(path, ".mhd") || has_extension(path, ".nhdr"))
    for (const char* extension : {".img", ".img.gz", ".raw", ".zraw", ".raw.gz"}) {
      const fs::path data = fs::path(path).replace_extension(extension);
      if (fs::exists(data)) hash.append("+").append(hash_of_bytes(data));
    }
  return hash;
}

}  // namespace freeflow
