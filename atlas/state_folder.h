// Results on disk, each under the key of what it was made from. A file is written under another
// name and renamed, and says by a checksum whether it is whole: one that is not is not there.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <freeflow/atlas/content_key.h>

namespace freeflow {

/// A result cannot be kept: no space, no permission.
struct StateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class StateFolder {
 public:
  /// made_by: all that results depend on beside the subjects and AtlasOptions' numbers, such as the
  /// version and the model's options. Makes the folder. Throws StateError.
  StateFolder(std::string folder, const std::string& made_by);
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  const ContentKey& made_by() const { return made_by_; }
  const std::string& folder() const { return folder_; }
  bool has(const ContentKey& key) const;
  /// Nothing where there is none, or none that is whole.
  std::optional<std::vector<std::byte>> read(const ContentKey& key) const;
  /// Queues: one is written while others are computed. Throws StateError for an earlier one too.
  void write(const ContentKey& key, std::vector<std::byte> content);
  /// The same, `content` called there, too.
  void write(const ContentKey& key, std::function<std::vector<std::byte>()> content);
  /// Waits for what is queued. Throws StateError.
  void settle();
  void remove(const ContentKey& key);
  /// What killed runs left half written, a minute ago or more.
  void remove_leftovers();

 private:
  std::string path(const ContentKey& key) const;

  std::string folder_;
  ContentKey made_by_;
  std::future<void> writing_;
};

}  // namespace freeflow
