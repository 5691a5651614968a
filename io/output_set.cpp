#include <freeflow/io/output_set.h>

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ranges>
#include <system_error>

#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace fs = std::filesystem;

namespace {

/// Makes `folder` with all that it lies in and adds what was missing to `made`.
void make_folders(const fs::path& folder, std::vector<fs::path>& made) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  if (folder.has_parent_path() && folder.parent_path() != folder)
    make_folders(folder.parent_path(), made);
  if (!fs::create_directory(folder, error) && !fs::is_directory(folder))
    throw IoError("cannot make the folder '" + folder.string() +
                  "': " + (error ? error.message() : "a file has its name"));
  made.push_back(folder);
}

void remove_folders(const std::vector<fs::path>& made) {
  std::error_code ignored;
  for (const fs::path& folder : std::views::reverse(made))
    fs::remove(folder, ignored);  // leaves those that others have filled
}

}  // namespace

OutputSet::OutputSet(const std::string& prefix)
    : folder_(fs::path(prefix).parent_path()), name_(fs::path(prefix).filename().string()) {
  if (name_ == "." || name_ == "..") {  // a folder, not the start of a name
    folder_ /= name_;
    name_.clear();
  }
  if (folder_.empty()) folder_ = ".";
  try {
    make_folders(folder_, made_folders_);
    std::string name = (folder_ / ".freeflow-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw IoError("cannot write into the folder '" + folder_.string() +
                    "': " + std::strerror(errno));
    staging_ = name;
  } catch (...) {
    remove_folders(made_folders_);
    throw;
  }
}

OutputSet::~OutputSet() {
  if (staging_.empty()) return;
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
  remove_folders(made_folders_);
}

std::string OutputSet::file(const std::string& suffix) const {
  return (staging_ / (name_ + suffix)).string();
}

void OutputSet::commit() {
  require(!staging_.empty(), "an output set is committed once");
  std::vector<fs::path> names;
  for (const auto& entry : fs::directory_iterator(staging_))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  std::vector<fs::path> moved;
  for (const fs::path& name : names) {
    std::error_code error;
    fs::rename(staging_ / name, folder_ / name, error);
    if (error) {
      std::error_code ignored;
      for (const fs::path& place : moved) fs::remove(place, ignored);
      fail_writing((folder_ / name).string(), error.message());
    }
    moved.push_back(folder_ / name);
  }
  fs::remove_all(staging_);
  staging_.clear();
}

}  // namespace freeflow
