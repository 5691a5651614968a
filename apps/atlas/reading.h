// The subjects' files in host memory.
#pragma once

#include <string>
#include <vector>

#include <apps/atlas/subject_list.h>
#include <freeflow/atlas/subject.h>

namespace freeflow::apps {

struct ReadSubjects {
  std::vector<AtlasSubject> subjects;
  std::vector<ListedSubject> listed;  ///< of those
  std::vector<std::string> warnings;
};

/// Reads on several threads. Throws IoError for a file that cannot be read and InvalidArgument for
/// channels, masks and labels on another grid than the subject's image; with keep_going such a
/// subject, or its labels alone, are left out with a warning. Labels are only looked at.
ReadSubjects read_subjects(const std::vector<ListedSubject>& listed, bool keep_going, int threads);

/// A sentence for each whose size is another unit's beside that of the median subject
/// (said_of_sizes()). Reads headers; what cannot be read is left to read_subjects().
std::vector<std::string> said_of_subject_sizes(const std::vector<ListedSubject>& listed);

/// One subject, without its labels.
AtlasSubject read_subject(const ListedSubject& listed, std::vector<std::string>& warnings);

}  // namespace freeflow::apps
