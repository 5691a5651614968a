#include <apps/table.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <freeflow/io/file_checks.h>

namespace freeflow::apps {

namespace {

/// Without the blanks around it.
std::string without_blanks(std::string cell) {
  while (cell.ends_with(' ')) cell.pop_back();
  cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
  return cell;
}

/// What stands in quotes, where a quote within is doubled, and the place behind them and what
/// separates it from the next cell; nothing where it does not end there. Throws InvalidArgument
/// where it does not end.
std::optional<std::pair<std::string, std::size_t>> quoted_cell(const std::string& line,
                                                               std::size_t at, char separator) {
  std::string text;
  for (++at; at < line.size(); ++at) {
    const bool doubled = line.compare(at, 2, "\"\"") == 0;
    if (line[at] == '"' && !doubled) {
      const std::size_t next = line.find_first_not_of(' ', at + 1);
      if (next == std::string::npos) return std::pair{text, line.size()};
      return line[next] == separator ? std::optional(std::pair{text, next}) : std::nullopt;
    }
    text += line[at];
    if (doubled) ++at;
  }
  throw InvalidArgument("a cell begins with a quote that is not closed in its line");
}

/// Of a cell that stands in no quotes. A transform to be inverted, [FILE,1], holds a comma.
std::size_t end_of_cell(const std::string& line, std::size_t begin, char separator) {
  const std::size_t bracket = begin < line.size() && line[begin] == '[' ? line.find(']', begin) : 0;
  if (bracket != std::string::npos) begin = std::max(begin, bracket);
  return std::min(line.find(separator, begin), line.size());
}

std::vector<std::string> cells_of(const std::string& line, char separator) {
  std::vector<std::string> cells;
  for (std::size_t at = 0;; ++at) {
    const std::size_t begin = std::min(line.find_first_not_of(' ', at), line.size());
    const auto quoted = begin < line.size() && line[begin] == '"'
                            ? quoted_cell(line, begin, separator)
                            : std::nullopt;
    const std::size_t end = quoted ? quoted->second : end_of_cell(line, begin, separator);
    cells.push_back(quoted ? quoted->first : without_blanks(line.substr(at, end - at)));
    at = end;
    if (at >= line.size()) return cells;
  }
}

/// Names of columns hold none of these.
char separator_of(const std::string& names) {
  for (const char c : {'\t', ';'})
    if (names.find(c) != std::string::npos) return c;
  return names.find(',') != std::string::npos ? ',' : '\t';
}

/// The next line from `at` on, which moves behind its end: of Unix, Windows or an old Macintosh.
std::string next_line(const std::string& text, std::size_t& at) {
  const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
  std::string line = text.substr(at, end - at);
  at = end + (text.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  return line;
}

std::string place_in(const std::string& path, int line) {
  return "'" + path + "' line " + std::to_string(line);
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

void check_columns(const std::string& place, const std::vector<std::string>& found,
                   const TableColumns& columns) {
  std::string known;
  for (const auto* names : {&columns.required, &columns.optional})
    for (const std::string& name : *names) known.append(known.empty() ? "" : ", ").append(name);
  const auto sentence = [&](const char* begin, const std::string& name, const std::string& end) {
    return std::string(place).append(begin).append(one_line(name)).append(end);
  };
  for (const std::string& name : found) {
    require(contains(columns.required, name) || contains(columns.optional, name),
            sentence(": there is no column '", name,
                     "'; the first line names some of " + known + ", separated by tabs"));
    require(std::ranges::count(found, name) == 1,
            sentence(": the column '", name, "' is there twice"));
  }
  for (const std::string& name : columns.required)
    require(contains(found, name), sentence(": the column '", name, "' is missing"));
}

TableRow row_of(const std::string& place, const std::vector<std::string>& names,
                const std::vector<std::string>& cells, const TableColumns& columns) {
  require(cells.size() == names.size(), place + ": it has " + std::to_string(cells.size()) +
                                            " cells for " + std::to_string(names.size()) +
                                            " columns; separate them by single tabs");
  TableRow row{place, {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    require(!cells[i].empty() || !contains(columns.required, names[i]),
            place + ": the cell of '" + names[i] + "' is empty");
    if (!cells[i].empty()) row.cells[names[i]] = cells[i];
  }
  return row;
}

}  // namespace

void skip_byte_order_mark(std::ifstream& file) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  std::array<char, mark.size()> begin{};
  file.read(begin.data(), begin.size());
  if (std::string_view(begin.data(), begin.size()) == mark) return;
  file.clear();
  file.seekg(0);
}

std::vector<TableLine> table_lines(const std::string& path) {
  size_of_readable_file(path);
  std::ifstream file(path, std::ios::binary);
  skip_byte_order_mark(file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    throw IoError("cannot read '" + path + "': it is text in UTF-16; save it as UTF-8");
  if (text.find('\0') != std::string::npos)
    throw IoError("cannot read '" + path + "': it is no table but holds bytes that are no text");
  std::vector<TableLine> lines;
  char separator = '\t';
  std::size_t at = 0;
  for (int number = 1; at < text.size(); ++number) {
    const std::string line = next_line(text, at);
    if (line.starts_with('#')) continue;
    if (lines.empty()) separator = separator_of(line);
    std::vector<std::string> cells;
    check_row({place_in(path, number), {}}, [&] { cells = cells_of(line, separator); });
    const std::size_t named = lines.empty() ? 0 : lines[0].cells.size();
    while (cells.size() > named && cells.back().empty()) cells.pop_back();
    if (std::ranges::any_of(cells, [](const std::string& cell) { return !cell.empty(); }))
      lines.push_back({number, std::move(cells)});
  }
  return lines;
}

std::vector<TableRow> read_table(const std::string& path, const TableColumns& columns) {
  const std::vector<TableLine> lines = table_lines(path);
  std::vector<TableRow> rows;
  for (const TableLine& line : lines) {
    const std::string place = place_in(path, line.number);
    if (&line == &lines[0])
      check_columns(place, line.cells, columns);
    else
      rows.push_back(row_of(place, lines[0].cells, line.cells, columns));
  }
  require(!rows.empty(), "'" + path +
                             "' has no rows; name the columns in its first line, and then "
                             "files in each line");
  return rows;
}

std::string path_in_table(const std::string& table, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(table).parent_path();
  return folder.empty() ? path : (folder / path).string();
}

namespace {

/// Where a file is, through links of its folder, which need not be there: a link in the file's own
/// place is replaced by what is written, not followed.
class Places {
 public:
  std::string of(const std::string& file) {
    const std::filesystem::path path = std::filesystem::absolute(file);
    const auto [folder, is_new] = folders_.try_emplace(path.parent_path().string());
    if (is_new) folder->second = resolved(path.parent_path());
    return (folder->second / path.filename()).string();
  }
  static std::filesystem::path resolved(const std::filesystem::path& path) {
    std::error_code none;
    const std::filesystem::path found = std::filesystem::weakly_canonical(path, none);
    return none ? path.lexically_normal() : found;
  }

 private:
  std::map<std::string, std::filesystem::path> folders_;
};

}  // namespace

void require_apart(const TableFiles& own, const std::vector<TableRow>& rows,
                   const std::vector<RowFiles>& files) {
  Places places;
  std::set<std::string> read{places.of(own.table), Places::resolved(own.table).string()};
  std::map<std::string, const TableRow*> writer_of;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::string& file : files[i].written) {
      const auto [other, is_new] = writer_of.emplace(places.of(file), &rows[i]);
      require(is_new, rows[i].place + ": the output '" + file + "' is also that of " +
                          other->second->place);
    }
  for (const std::string& place : read)
    if (const auto writer = writer_of.find(place); writer != writer_of.end())
      throw InvalidArgument(writer->second->place + ": an output is the table itself, '" +
                            own.table + "'; give the outputs other names");
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::string& file : files[i].read)
      for (const std::string& place : {places.of(file), Places::resolved(file).string()}) {
        read.insert(place);
        const auto writer = writer_of.find(place);
        if (writer == writer_of.end()) continue;
        throw InvalidArgument(
            rows[i].place + ": the input '" + file + "' is an output of " + writer->second->place +
            "; give what builds on others a table of its own, to run after theirs");
      }
  if (own.summary.empty()) return;
  const std::string summary = places.of(own.summary);
  require(own.config.empty() || (summary != places.of(own.config) &&
                                 summary != Places::resolved(own.config).string()),
          "--summary '" + own.summary + "' is the file of --config; give it another name");
  require(!read.contains(summary) && !writer_of.contains(summary),
          "--summary '" + own.summary +
              "' is the table of the pairs or one of their files; give it another name");
}

}  // namespace freeflow::apps
