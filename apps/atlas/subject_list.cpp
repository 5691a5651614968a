#include <apps/atlas/subject_list.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include <apps/table.h>
#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>

namespace freeflow::apps {

namespace fs = std::filesystem;

namespace {

/// "a/s01_T1w.nii.gz" is s01_T1w.
std::string name_of_file(const std::string& file) {
  std::string name = fs::path(file).filename().string();
  for (const char* extension :
       {".gz", ".nii", ".mha", ".mhd", ".nrrd", ".nhdr", ".hdr", ".img", ".mgz", ".mgh"})
    if (has_extension(name, extension)) name.resize(name.size() - std::string(extension).size());
  return name;
}

/// "A" of "subjects/A/template.nii.gz"; empty where the path names none.
std::string folder_of_file(const std::string& file) {
  const std::string folder = fs::path(file).parent_path().filename().string();
  return folder == "." || folder == ".." ? "" : folder;
}

/// Those without a name are called as their files, or as their folders where all files have one
/// name, as templates of single subjects do.
void name_by_files(std::vector<ListedSubject>& subjects) {
  std::set<fs::path> files;
  std::size_t without = 0;
  bool in_folders = true;
  for (const ListedSubject& s : subjects) {
    if (!s.name.empty()) continue;
    ++without;
    files.insert(fs::path(s.channels[0]).filename());
    in_folders = in_folders && !folder_of_file(s.channels[0]).empty();
  }
  const bool by_folder = in_folders && without > 1 && files.size() == 1;
  for (ListedSubject& s : subjects)
    if (s.name.empty())
      s.name = by_folder ? folder_of_file(s.channels[0]) : name_of_file(s.channels[0]);
}

/// Channels in order; `image` is the first.
std::size_t channel_of(const std::string& column) {
  if (column == "image") return 1;
  if (column.rfind("channel", 0) != 0) return 0;
  const std::string number = column.substr(7);
  return number.size() == 1 && number[0] >= '2' && number[0] <= '9' ? std::size_t(number[0] - '0')
                                                                    : 0;
}

ListedSubject subject_of(const std::string& table, const TableRow& row, std::size_t channels) {
  ListedSubject subject;
  subject.channels.resize(channels);
  for (const auto& [column, cell] : row.cells) {
    if (column == "name") {
      subject.name = cell;
      continue;
    }
    const std::string file = path_in_table(table, cell);
    if (column == "mask") subject.mask = file;
    if (column == "labels") subject.labels = file;
    if (const std::size_t channel = channel_of(column)) subject.channels[channel - 1] = file;
  }
  for (const std::string& file : subject.channels)
    require(!file.empty(), row.place + " lacks an image in one of its channels");
  return subject;
}

/// Words of a table, in a sentence.
std::string in_quotes(const std::string& words) {
  return std::string(1, '\'').append(one_line(words)).append("'");
}

std::vector<ListedSubject> listed_in(const std::string& path) {
  TableColumns columns{{"image"}, {"name", "mask", "labels"}};
  for (int channel = 2; channel <= 9; ++channel)
    columns.optional.push_back("channel" + std::to_string(channel));
  const std::vector<TableRow> rows = read_table(path, columns);
  std::size_t channels = 0;
  for (const TableRow& row : rows)
    for (const auto& [column, cell] : row.cells) channels = std::max(channels, channel_of(column));
  std::vector<ListedSubject> subjects;
  subjects.reserve(rows.size());
  for (const TableRow& row : rows) subjects.push_back(subject_of(path, row, channels));
  return subjects;
}

bool is_table(const std::string& file) {
  return std::ranges::any_of(std::array{".tsv", ".csv", ".txt"},
                             [&](const char* extension) { return has_extension(file, extension); });
}

void check(const std::vector<ListedSubject>& subjects) {
  require(!subjects.empty(), "no subject is listed");
  if (subjects.size() == 1) size_of_readable_file(subjects[0].channels[0]);  // not an unmet pattern
  require(subjects.size() >= 2, "a template needs two subjects or more, and " +
                                    in_quotes(subjects[0].channels[0]) + " is the only one");
  std::map<std::string, std::string> file_of_name;
  for (const ListedSubject& s : subjects) {
    require(s.name.find('/') == std::string::npos,
            "the name " + in_quotes(s.name) +
                " of a subject cannot hold a slash: files are named by it");
    const auto [other, is_new] = file_of_name.emplace(s.name, s.channels[0]);
    std::error_code none;
    require(is_new || !fs::equivalent(other->second, s.channels[0], none),
            in_quotes(s.channels[0]) + " is listed twice; leave it out once");
    require(is_new, in_quotes(s.channels[0]) + " and " + in_quotes(other->second) +
                        " both have the name '" + one_line(s.name) +
                        "': give every subject a name of its own, in the column 'name' of a table");
  }
}

}  // namespace

std::vector<ListedSubject> list_subjects(const std::vector<std::string>& images,
                                         const std::vector<std::string>& masks,
                                         const std::vector<std::string>& labels) {
  std::vector<ListedSubject> subjects;
  if (images.size() == 1 && is_table(images[0])) {
    require(masks.empty() && labels.empty(),
            "the table '" + images[0] +
                "' has columns for masks and labels; leave out --masks and "
                "--labels");
    subjects = listed_in(images[0]);
  } else {
    for (const auto& [option, files] : {std::pair{"masks", &masks}, std::pair{"labels", &labels}})
      require(files->empty() || files->size() == images.size(),
              "--" + std::string(option) + " names " + std::to_string(files->size()) +
                  " files for " + std::to_string(images.size()) + " images; name one for each");
    for (std::size_t i = 0; i < images.size(); ++i)
      subjects.push_back(
          {"", {images[i]}, masks.empty() ? "" : masks[i], labels.empty() ? "" : labels[i]});
  }
  name_by_files(subjects);
  check(subjects);
  return subjects;
}

std::vector<std::string> files_of(const std::vector<ListedSubject>& subjects) {
  std::vector<std::string> files;
  for (const ListedSubject& s : subjects) {
    files.insert(files.end(), s.channels.begin(), s.channels.end());
    for (const std::string& file : {s.mask, s.labels})
      if (!file.empty()) files.push_back(file);
  }
  return files;
}

}  // namespace freeflow::apps
