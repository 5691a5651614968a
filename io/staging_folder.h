// Private to io: the hidden folder in which a set of files waits until it is complete. A lock on
// it, which the system drops when a process ends in whatever way, tells a folder in use from one
// that a killed run left behind.
//   lock   held by the owner
//   new/   what was written
//   old/   while the files are moved: what stood in their places
//   back/  while that is undone: the same
#pragma once

#include <filesystem>
#include <string>

namespace freeflow {

class StagingFolder {
 public:
  /// Makes one in `folder` for files whose names begin with `name`, after dealing with those of the
  /// same name that killed runs left: removed, or the move that they were in the middle of ended.
  /// Throws IoError, WriteError.
  StagingFolder(const std::filesystem::path& folder, const std::string& name);
  /// Removes it with all that it holds.
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  std::filesystem::path written() const { return path_ / "new"; }
  std::filesystem::path replaced() const { return path_ / "old"; }
  std::filesystem::path put_back() const { return path_ / "back"; }

  /// Leaves it as a killed run would, to the next one of the same name.
  void leave() { left_ = true; }

 private:
  bool make(const std::filesystem::path& folder, const std::string& name);

  std::filesystem::path path_;
  int lock_ = -1;
  bool left_ = false;
};

/// Moves all that `from` holds into `to`, as far as that works.
void move_all(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace freeflow
