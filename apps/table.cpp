#include <apps/table.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <freeflow/io/file_checks.h>

namespace freeflow::apps {

namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line)
    if (c == '\t')
      cells.emplace_back();
    else
      cells.back() += c;
  for (std::string& cell : cells) {
    while (cell.ends_with(' ')) cell.pop_back();
    cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
  }
  return cells;
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

std::vector<TableRow> read_table(const std::string& path, const TableColumns& columns) {
  size_of_readable_file(path);
  std::ifstream file(path);
  skip_byte_order_mark(file);
  std::vector<std::string> names;
  std::vector<TableRow> rows;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos || line.starts_with('#')) continue;
    const std::string place = "'" + path + "' line " + std::to_string(number);
    const std::vector<std::string> cells = cells_of(line);
    if (names.empty()) {
      check_columns(place, cells, columns);
      names = cells;
    } else {
      rows.push_back(row_of(place, names, cells, columns));
    }
  }
  require(!rows.empty(), "'" + path +
                             "' has no rows; name the columns in its first line, and then "
                             "the files of a pair in each line");
  return rows;
}

std::string path_in_table(const std::string& table, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(table).parent_path();
  return folder.empty() ? path : (folder / path).string();
}

void require_apart(const std::vector<TableRow>& rows, const std::vector<RowFiles>& files) {
  const auto absolute = [](const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  std::map<std::string, const TableRow*> writer_of;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::string& file : files[i].written) {
      const auto [other, is_new] = writer_of.emplace(absolute(file), &rows[i]);
      require(is_new, rows[i].place + ": the output '" + file + "' is also that of " +
                          other->second->place);
    }
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::string& file : files[i].read) {
      const auto writer = writer_of.find(absolute(file));
      if (writer == writer_of.end()) continue;
      throw InvalidArgument(rows[i].place + ": the input '" + file + "' is an output of " +
                            writer->second->place +
                            "; give what builds on others a table of its own, to run after theirs");
    }
}

}  // namespace freeflow::apps
