// All output files of a run, or none: they are written into a hidden folder beside their place and
// moved there at the end. What stood in their places comes back when that fails. A run that is
// killed leaves the hidden folder, and the next run with the same prefix deals with it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace freeflow {

class StagingFolder;

class OutputSet {
 public:
  /// `prefix` is a path whose last part begins the file names ("results/s01_"; "results/" for
  /// none). Makes missing folders at once. Throws IoError when the folder cannot be made or written
  /// to.
  explicit OutputSet(const std::string& prefix);
  /// Without commit: removes what was written and the folders that were made. Where memory ends
  /// over it, the next set with this prefix does.
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  /// Where to write the file that becomes prefix + suffix. Its name is the final one, so writers
  /// may go by the extension.
  std::string file(const std::string& suffix) const;

  /// To the disk already now, so that commit need not wait for it; for a file that is complete.
  /// Throws as commit does. Any thread.
  void sync(const std::string& suffix) const;

  /// Moves all files that were written to their places, replacing older ones. Throws IoError
  /// (WriteError where the disk or a quota ends), and then everything is as it was.
  void commit();

  /// The same in two steps, for several sets that belong together: place all, then keep all. What
  /// was placed and not kept is undone by the destructor.
  void place();
  void keep();

 private:
  void set_aside(const std::string& name) const;
  void undo();

  std::filesystem::path folder_;  // of the prefix
  std::string name_;              // last part of the prefix
  std::unique_ptr<StagingFolder> staging_;
  std::vector<std::filesystem::path> made_folders_;  // outermost first
  std::vector<std::string> names_;                   // of the files, once they are being placed
};

/// What file names begin with by an output prefix: one whose last part is "." or ".." names a
/// folder, and gets the slash of one, lest its dots begin the names.
std::string begin_of_names(std::string prefix);

/// Deals with what killed runs with this prefix left, as a set would; where nothing can be written,
/// all stays as it is.
void end_killed_runs(const std::string& prefix);

/// The final name of what file() gives, wherever such a path stands in a text.
std::string without_staging(const std::string& text);

}  // namespace freeflow
