#include <freeflow/atlas/state_folder.h>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <utility>

namespace freeflow {

namespace fs = std::filesystem;

namespace {

struct Header {
  std::array<char, 8> magic{'f', 'f', 'a', 't', 'l', 'a', 's', '1'};
  ContentKey key, checksum;
  std::uint64_t bytes = 0;
};

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

[[noreturn]] void fail(const std::string& path, int error) {
  throw StateError("cannot write '" + path + "': " + std::strerror(error) +
                   "; what was kept before is whole, and the same command goes on from there");
}

/// Of no other process and no other write.
std::string temporary_name(const std::string& path) {
  std::random_device device;
  return path + "." + std::to_string(device()) + std::to_string(device()) + ".tmp";
}

void write_file(const std::string& path, const ContentKey& key,
                const std::vector<std::byte>& content) {
  const std::string temporary = temporary_name(path);
  const Header header{.key = key,
                      .checksum = content_key(std::span<const std::byte>(content)),
                      .bytes = content.size()};
  errno = 0;
  std::FILE* const file = std::fopen(temporary.c_str(), "wb");
  if (!file) fail(path, errno);
  bool good =
      std::fwrite(&header, sizeof header, 1, file) == 1 &&
      (content.empty() || std::fwrite(content.data(), 1, content.size(), file) == content.size());
  int error = errno;
  if (std::fclose(file) != 0 && good) good = false, error = errno;
  if (good && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  if (good) error = errno;
  std::remove(temporary.c_str());
  fail(path, error);
}

}  // namespace

StateFolder::StateFolder(std::string folder, const std::string& made_by)
    : folder_(std::move(folder)), made_by_(derived_key(made_by, {})) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail(folder_, error.value());
}

StateFolder::~StateFolder() {
  if (writing_.valid()) writing_.wait();
  rmdir(folder_.c_str());  // where nothing was kept
}

std::string StateFolder::path(const ContentKey& key) const { return folder_ + "/" + key.text(); }

bool StateFolder::has(const ContentKey& key) const { return fs::exists(path(key)); }

std::optional<std::vector<std::byte>> StateFolder::read(const ContentKey& key) const {
  const File file(std::fopen(path(key).c_str(), "rb"));
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path(key), error);
  Header header;
  const std::array<char, 8> magic = header.magic;
  if (!file || error || std::fread(&header, sizeof header, 1, file.get()) != 1) return {};
  if (header.magic != magic || header.key != key || header.bytes != size - sizeof header) return {};
  std::vector<std::byte> content(header.bytes);
  if (std::fread(content.data(), 1, content.size(), file.get()) != content.size()) return {};
  if (content_key(std::span<const std::byte>(content)) != header.checksum) return {};
  return content;
}

void StateFolder::write(const ContentKey& key, std::vector<std::byte> content) {
  settle();
  writing_ = std::async(std::launch::async, [path = path(key), key, content = std::move(content)] {
    write_file(path, key, content);
  });
}

void StateFolder::write(const ContentKey& key, std::function<std::vector<std::byte>()> content) {
  settle();
  writing_ = std::async(std::launch::async, [path = path(key), key, content = std::move(content)] {
    write_file(path, key, content());
  });
}

void StateFolder::settle() {
  if (writing_.valid()) std::exchange(writing_, {}).get();
}

void StateFolder::remove(const ContentKey& key) {
  std::error_code none;
  fs::remove(path(key), none);
}

void StateFolder::remove_leftovers() {
  std::error_code none;
  const auto then = fs::file_time_type::clock::now() - std::chrono::minutes(1);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, none))
    if (entry.path().extension() == ".tmp" && entry.last_write_time(none) < then)
      fs::remove(entry.path(), none);
}

}  // namespace freeflow
