#include <freeflow/io/staging_folder.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <vector>

#include <freeflow/io/write_error.h>

namespace freeflow {

namespace fs = std::filesystem;

namespace {

constexpr const char* unique = "-XXXXXX";

std::string start_of_name(const std::string& name) {
  constexpr std::size_t most = 200;  // of the 255 bytes that a name may have
  return ".freeflow-" + name.substr(0, most);
}

/// Unlocks at the end of a scope, also where memory ends before.
struct Unlocking {
  int lock;
  ~Unlocking() {
    if (lock >= 0) close(lock);
  }
};

/// A folder with all that it holds. std::filesystem::remove_all ends the program where memory ends.
void remove_tree(const char* path) {
  const auto remove_one = [](const char* one, const struct stat*, int, FTW*) {
    remove(one);
    return 0;
  };
  nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/// The lock goes before its file: NFS keeps a file that is open, and with it the folder. By then
/// the folder has another name, so that whoever waits for its lock sees it gone.
void remove_and_unlock(const fs::path& path, int lock) {
  std::string rest;
  {
    const Unlocking unlocking{lock};
    rest = path.string();
    for (const char* part : {"old", "back", "new"}) remove_tree((path / part).c_str());
    std::string other = rest;  // memory that is asked for later might leave both
    other.replace(other.size() - std::strlen(unique), std::string::npos, unique);
    if (mkdtemp(other.data()) && rename(path.c_str(), other.c_str()) == 0) rest.swap(other);
  }
  remove_tree(rest.c_str());
}

/// Whether the open file is still the one of this name.
bool is_file(int open, const fs::path& path) {
  struct stat opened {
  }, named{};
  return fstat(open, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Whoever left this folder is gone, and its lock is ours.
void deal_with(const fs::path& abandoned, int lock, const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(abandoned / "back", error))
    move_all(abandoned / "back", folder);
  else if (fs::is_directory(abandoned / "old", error))
    move_all(abandoned / "new", folder);  // complete, and partly there already
  remove_and_unlock(abandoned, lock);
}

void clear_abandoned(const fs::path& folder, const std::string& name) {
  const std::string start = start_of_name(name);
  std::vector<fs::path> candidates;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string found = entry->path().filename().string();
    if (found.size() == start.size() + std::strlen(unique) && found.starts_with(start) &&
        found[start.size()] == '-')
      candidates.push_back(entry->path());
  }
  for (const fs::path& candidate : candidates) {
    // Killed before it had a lock; one that is about to get it makes another folder.
    if (rmdir(candidate.c_str()) == 0) continue;
    const int lock = open((candidate / "lock").c_str(), O_RDWR | O_CLOEXEC);
    if (lock < 0) continue;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0)
      deal_with(candidate, lock, folder);
    else
      close(lock);
  }
}

}  // namespace

StagingFolder::StagingFolder(const fs::path& folder, const std::string& name) {
  const fs::path here = folder.empty() ? fs::path(".") : folder;
  clear_abandoned(here, name);
  while (!make(folder, name)) {
  }
}

/// False where another run took the folder for an abandoned one before it was locked.
bool StagingFolder::make(const fs::path& folder, const std::string& name) {
  std::string path = (folder / (start_of_name(name) + unique)).string();
  if (!mkdtemp(path.data())) {
    const int error = errno;
    const std::string sentence = "cannot write into the folder '" +
                                 (folder.empty() ? "." : folder.string()) +
                                 "': " + std::generic_category().message(error);
    if (error == ENOSPC || error == EDQUOT) throw WriteError(sentence);
    throw IoError(sentence);
  }
  path_ = path;
  lock_ = open((path_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0 && errno == ENOENT) return false;
  const bool locked = lock_ >= 0 && flock(lock_, LOCK_EX | LOCK_NB) == 0;
  // Where the file system has no locks, nobody takes the folder for an abandoned one either.
  const bool taken = lock_ >= 0 && ((!locked && errno == EWOULDBLOCK) ||
                                    (locked && !is_file(lock_, path_ / "lock")));
  if (taken) {
    close(lock_);
    lock_ = -1;
    return false;
  }
  std::error_code error;
  if (!fs::create_directory(written(), error)) {
    remove_and_unlock(path_, lock_);
    fail_writing(path_.string(), error.value());
  }
  return true;
}

StagingFolder::~StagingFolder() {
  if (left_) {
    const Unlocking at_once{lock_};
    return;
  }
  try {
    remove_and_unlock(path_, lock_);
  } catch (const std::bad_alloc&) {  // the next run takes it for abandoned and clears it
  }
}

void move_all(const fs::path& from, const fs::path& to) {
  std::vector<fs::path> names;
  std::error_code error;
  for (fs::directory_iterator entry(from, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename());
  for (const fs::path& name : names) fs::rename(from / name, to / name, error);
}

}  // namespace freeflow
