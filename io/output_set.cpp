#include <freeflow/io/output_set.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <regex>
#include <system_error>
#include <thread>
#include <utility>

#include <freeflow/core/error.h>
#include <freeflow/io/staging_folder.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

namespace fs = std::filesystem;

namespace {

/// Makes `folder` with all that it lies in and adds what was missing to `made`.
void make_folders(const fs::path& folder, std::vector<fs::path>& made) {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return;
  if (error && error.value() != ENOENT)
    throw IoError("cannot make the folder '" + folder.string() + "': " + error.message());
  if (folder.has_parent_path() && folder.parent_path() != folder)
    make_folders(folder.parent_path(), made);
  std::error_code none;
  if (!fs::create_directory(folder, error) && !fs::is_directory(folder, none)) {
    const std::string sentence = "cannot make the folder '" + folder.string() +
                                 "': " + (error ? error.message() : "a file has its name");
    if (error.value() == ENOSPC || error.value() == EDQUOT) throw WriteError(sentence);
    throw IoError(sentence);
  }
  made.push_back(folder);
}

void remove_folders(const std::vector<fs::path>& made) {
  std::error_code ignored;
  std::for_each(made.rbegin(), made.rend(), [&](const fs::path& folder) {
    fs::remove(folder, ignored);  // leaves those that others have filled
  });
}

/// To the disk, so that a machine that stops does not put an empty file in the place of a good one;
/// NFS says only now that a quota is used up.
void to_disk(const fs::path& path, const std::string& named) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int error = file < 0 || fsync(file) != 0 ? errno : 0;
  if (file >= 0) close(file);
  if (error != 0 && error != EINVAL && error != EROFS) fail_writing(named, error);
}

/// Runs with one prefix move their files one after the other, or the sets would mix. After a second
/// without the lock, or where there are none, it goes on all the same.
class Turn {
 public:
  explicit Turn(const fs::path& folder) : folder_(open(folder.c_str(), O_RDONLY | O_CLOEXEC)) {
    for (int tries = 0; tries < 100 && flock(folder_, LOCK_EX | LOCK_NB) != 0; ++tries) {
      if (errno != EWOULDBLOCK) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ~Turn() {
    if (folder_ >= 0) close(folder_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  int folder_;
};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string begin_of_names(std::string prefix) {
  const fs::path last = fs::path(prefix).filename();
  if (last == "." || last == "..") prefix += '/';
  return prefix;
}

OutputSet::OutputSet(const std::string& prefix) {
  const fs::path begin = begin_of_names(prefix);
  folder_ = begin.parent_path();
  name_ = begin.filename().string();
  try {
    make_folders(folder_, made_folders_);
    staging_ = std::make_unique<StagingFolder>(folder_, name_);
  } catch (...) {
    remove_folders(made_folders_);
    throw;
  }
}

OutputSet::~OutputSet() {
  if (!staging_) return;
  try {
    undo();
  } catch (const std::bad_alloc&) {
    staging_->leave();  // what stood there before lies in it
  }
  staging_.reset();
  remove_folders(made_folders_);
}

std::string OutputSet::file(const std::string& suffix) const {
  return (staging_->written() / (name_ + suffix)).string();
}

void OutputSet::sync(const std::string& suffix) const {
  to_disk(file(suffix), (folder_ / (name_ + suffix)).string());
}

/// A second name for what stands there, so that no moment is without it; where the file system has
/// none, it is moved.
void OutputSet::set_aside(const std::string& name) const {
  const fs::path place = folder_ / name, aside = staging_->replaced() / name;
  std::error_code error;
  const fs::file_status there = fs::status(place, error);
  if (fs::is_directory(there)) fail_writing(place.string(), EISDIR);
  if (fs::exists(there) && !fs::is_regular_file(there))
    throw IoError("cannot write '" + place.string() + "': what has this name is no regular file");
  if (link(place.c_str(), aside.c_str()) == 0 || errno == ENOENT) return;
  fs::rename(place, aside, error);
  if (error) fail_writing(place.string(), error.value());
}

void OutputSet::place() {
  require(staging_ && names_.empty(), "an output set is committed once");
  std::vector<std::string> names = names_in(staging_->written());
  for (const std::string& name : names)
    to_disk(staging_->written() / name, (folder_ / name).string());
  const fs::path here = folder_.empty() ? fs::path(".") : folder_;
  const Turn turn(here);
  names_ = std::move(names);
  try {
    fs::create_directory(staging_->replaced());
    for (const std::string& name : names_) set_aside(name);
    for (const std::string& name : names_) {
      std::error_code error;
      fs::rename(staging_->written() / name, folder_ / name, error);
      if (error) fail_writing((folder_ / name).string(), error.value());
    }
  } catch (...) {
    undo();
    throw;
  }
  const int folder = open(here.c_str(), O_RDONLY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);  // some file systems cannot
    close(folder);
  }
}

/// By the names, as a std::filesystem::directory_iterator ends the program where memory ends.
void OutputSet::undo() {
  if (names_.empty()) return;
  std::error_code error, none;
  fs::rename(staging_->replaced(), staging_->put_back(), error);
  const fs::path before = error ? staging_->replaced() : staging_->put_back();
  for (const std::string& name : names_) {
    const bool placed = !fs::exists(fs::symlink_status(staging_->written() / name, none));
    fs::rename(before / name, folder_ / name, error);
    if (placed && error == std::errc::no_such_file_or_directory) fs::remove(folder_ / name, none);
  }
  names_.clear();
}

void OutputSet::keep() {
  names_.clear();
  staging_.reset();
}

void OutputSet::commit() {
  place();
  keep();
}

void end_killed_runs(const std::string& prefix) {
  try {
    const OutputSet ends_them(prefix);
  } catch (const IoError&) {
  }
}

std::string without_staging(const std::string& text) {
  static const std::regex staging(R"(\.freeflow-[^/]*-\w{6}/new/)");
  return std::regex_replace(text, staging, "");
}

}  // namespace freeflow
