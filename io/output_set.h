// All output files of a run, or none: they are written into a hidden folder beside their place and
// moved there at the end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace freeflow {

class OutputSet {
 public:
  /// `prefix` is a path whose last part begins the file names ("results/s01_"; "results/" for
  /// none). Makes missing folders at once. Throws IoError when the folder cannot be made or written
  /// to.
  explicit OutputSet(const std::string& prefix);
  /// Without commit: removes what was written and the folders that were made.
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  /// Where to write the file that becomes prefix + suffix. Its name is the final one, so writers
  /// may go by the extension.
  std::string file(const std::string& suffix) const;

  /// Moves all files that were written to their places, replacing older ones. Throws IoError, and
  /// then none of them stays.
  void commit();

 private:
  std::filesystem::path folder_;                     // of the prefix
  std::string name_;                                 // last part of the prefix
  std::filesystem::path staging_;                    // the hidden folder
  std::vector<std::filesystem::path> made_folders_;  // outermost first
};

}  // namespace freeflow
