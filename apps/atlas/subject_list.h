// The subjects of a template as a user lists them.
#pragma once

#include <string>
#include <vector>

namespace freeflow::apps {

struct ListedSubject {
  std::string name;                   ///< for messages and files
  std::vector<std::string> channels;  ///< files
  std::string mask, labels;           ///< files, or empty
};

/// images: files of one channel, or one table (.tsv, .csv, .txt) with a header line: `image` and
/// optionally `name`, `mask`, `labels`, `channel2`, `channel3` and so on, paths relative to the
/// table; an empty cell is none. masks and labels: none, or one for each image in the same order.
/// Where the table gives no names they are those of the files, or of the folders where all files
/// have one name. Throws InvalidArgument, IoError.
std::vector<ListedSubject> list_subjects(const std::vector<std::string>& images,
                                         const std::vector<std::string>& masks,
                                         const std::vector<std::string>& labels);

/// Every file that is read.
std::vector<std::string> files_of(const std::vector<ListedSubject>& subjects);

}  // namespace freeflow::apps
