#include <apps/regtool/point_table.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <optional>
#include <sstream>
#include <utility>

#include <apps/regtool/markups.h>
#include <apps/table.h>
#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/write_error.h>

namespace freeflow::apps {

namespace {

using Cells = std::vector<std::string>;

/// A cell keeps its quotes, in which separators may stand, to be written as it came.
Cells split(const std::string& line, char separator) {
  Cells cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == separator && !quoted)
      cells.emplace_back();
    else
      cells.back().push_back(c);
  }
  return cells;
}

std::string bare(const std::string& cell) {
  const auto first = cell.find_first_not_of(" \t\"");
  if (first == std::string::npos) return {};
  return cell.substr(first, cell.find_last_not_of(" \t\"") - first + 1);
}

bool has_decimal_comma(const std::string& cell) { return std::ranges::count(cell, ',') == 1; }

/// Between semicolons a comma may stand before the decimals, as spreadsheets of many countries
/// write them.
std::optional<double> number(const std::string& cell, char separator) {
  std::string text = bare(cell);
  if (text.starts_with('+')) text.erase(0, 1);
  if (separator == ';' && has_decimal_comma(text)) std::ranges::replace(text, ',', '.');
  double value = NAN;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

std::optional<Eigen::Vector3d> point(const Cells& cells, const PointTable& table) {
  Eigen::Vector3d p;
  for (int a = 0; a < 3; ++a) {
    if (table.columns[a] >= cells.size()) return {};
    const std::optional<double> value = number(cells[table.columns[a]], table.separator);
    if (!value) return {};
    p[a] = *value;
  }
  return p;
}

/// Names begin with a letter; what begins like a number may be a point gone wrong.
bool are_names(const Cells& cells) {
  return std::all_of(cells.begin(), cells.end(), [](const std::string& cell) {
    const std::string name = bare(cell);
    return name.empty() || (std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
                            name != "nan" && name != "inf" && name != "NaN" && name != "Inf");
  });
}

struct Columns {
  std::array<std::size_t, 3> at{};
  std::string axis_less;  ///< what their names share
  bool count_voxels = false;
};

/// All columns of which one has the first of three letters where others of the same name have the
/// second and the third.
std::vector<Columns> columns_of(const Cells& names, const char* letters) {
  std::vector<Columns> found;
  for (std::size_t first = 0; first < names.size(); ++first)
    for (std::size_t k = 0; k < names[first].size(); ++k) {
      if (names[first][k] != letters[0]) continue;
      Columns columns{{first}, names[first]};
      columns.axis_less.erase(k, 1);
      columns.count_voxels = letters[0] == 'i' && columns.axis_less.empty();
      for (std::size_t a = 1; a < 3; ++a) {
        std::string name = names[first];
        name[k] = letters[a];
        columns.at[a] = std::size_t(std::ranges::find(names, name) - names.begin());
      }
      if (std::ranges::find(columns.at, names.size()) == columns.at.end()) found.push_back(columns);
    }
  return found;
}

/// Of x, y and z; where no columns are called that, the only ones that are called so but for what
/// they share, as px, py, pz or base_i, base_j, base_k. Of voxels i, j and k come first.
std::optional<Columns> columns(Cells names, bool of_voxels) {
  for (std::string& name : names) {
    name = bare(name);
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return char(std::tolower(c)); });
  }
  if (of_voxels)
    for (const Columns& one : columns_of(names, "ijk"))
      if (one.count_voxels) return one;
  for (const char* letters : {"xyz", "ijk"}) {
    const std::vector<Columns> found = columns_of(names, letters);
    for (const Columns& one : found)
      if (one.axis_less.empty()) return one;
    if (!found.empty()) return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
  }
  return {};
}

/// Whether it stands among the words, between what is no letter: cm in " (cm)".
bool has_word(const std::string& words, const std::string& word) {
  const auto is_letter = [&](std::size_t at) {
    return at < words.size() && std::isalpha(static_cast<unsigned char>(words[at])) != 0;
  };
  for (std::size_t at = words.find(word); at != std::string::npos; at = words.find(word, at + 1))
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
  return false;
}

/// Where the columns' names say it: x_ras, y_ras, z_ras; x_vox; x (cm).
void take_columns(const Columns& named, PointTable& table) {
  table.columns = named.at;
  table.counts_voxels = named.count_voxels;
  for (const char* voxels : {"vox", "voxel", "voxels", "pixel", "pixels"})
    table.counts_voxels = table.counts_voxels || has_word(named.axis_less, voxels);
  for (const char* unit : {"cm", "um", "\u00b5m", "inch", "inches"})
    if (has_word(named.axis_less, unit)) table.unit = unit;
  for (const char* frame : {"ras", "lps"})
    if (has_word(named.axis_less, frame)) table.frame = frame;
}

/// What 3D Slicer's fiducials (.fcsv) say in lines before the points: "# CoordinateSystem = LPS"
/// (of old ones 1, and 0 is RAS), "# columns = id,x,y,z,...".
void take_comment(const std::string& line, bool of_voxels, std::string& comments,
                  PointTable& table) {
  comments += (comments.empty() ? "" : "\n") + line;
  const auto equals = line.find('=');
  if (equals == std::string::npos) return;
  const std::string key = bare(line.substr(1, equals - 1)), value = bare(line.substr(equals + 1));
  if (key == "CoordinateSystem")
    table.frame = value == "LPS" || value == "1"   ? "lps"
                  : value == "RAS" || value == "0" ? "ras"
                                                   : value;
  if (key != "columns") return;
  if (const auto named = columns(split(value, ','), of_voxels)) {
    take_columns(*named, table);
    table.names = value;
  }
}

/// A semicolon counts only where the first of the cells between commas hold it: 1,5;2,5;3,5 has
/// decimal commas, 1,2,3,"a" and 1,2,3,a;b;c have not.
char separator_of(const std::string& line) {
  const Cells cells = split(line, ',');
  if (split(line, ';').size() >= 3 &&
      std::any_of(cells.begin(),
                  cells.begin() + std::ptrdiff_t(std::min<std::size_t>(3, cells.size())),
                  [](const std::string& cell) { return cell.find(';') != std::string::npos; }))
    return ';';
  return cells.size() == 1 && line.find('\t') != std::string::npos ? '\t' : ',';
}

/// Surfaces and streamlines of other programs are no text, or their numbers stand among marks.
void require_text(const std::string& path, std::istream& file) {
  std::string begin(4096, '\0');
  file.read(begin.data(), std::streamsize(begin.size()));
  begin.resize(std::size_t(file.gcount()));
  file.clear();
  file.seekg(0);
  if (begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff"))
    fail_reading(path, "it is text in UTF-16; save it as UTF-8");
  if (begin.starts_with('<') || begin.starts_with("mrtrix tracks") ||
      begin.find('\0') != std::string::npos)
    fail_reading(path,
                 "it is no table of points; a surface goes in as .ply, .stl, .obj or .vtk, and "
                 "streamlines as a table of their points");
}

PointTable read_table(const std::string& path, bool of_voxels) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_reading(path, "it cannot be opened");
  require_text(path, file);
  skip_byte_order_mark(file);
  PointTable table;
  std::string line, comments;
  bool first = true;
  for (int at = 1; std::getline(file, line); ++at) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    if (line[0] == '#') {
      if (first) take_comment(line, of_voxels, comments, table);
      continue;
    }
    const bool framed = !table.frame.empty();
    // What comments say of columns and frame is written again, with all of them.
    if (first && (framed || !table.names.empty())) table.names = comments;
    if (first) table.separator = separator_of(line);
    Cells cells = split(line, table.separator);
    if (std::exchange(first, false) && are_names(cells)) {
      const auto named = columns(cells, of_voxels);
      if (cells.size() == 1 && (bare(line) == "point" || bare(line) == "index"))
        fail_reading(
            path,
            "it is elastix' list of points; make a table of it: awk 'NR > 2 {print $1 \",\" "
            "$2 \",\" $3}' (of index, for --frame voxel)");
      if (!named)
        fail_reading(path, "line " + std::to_string(at) +
                               " is neither a point nor names of columns x, y and z");
      table.names = framed ? comments.append("\n").append(line) : line;
      take_columns(*named, table);
      continue;
    }
    const std::optional<Eigen::Vector3d> p = point(cells, table);
    if (!p)
      fail_reading(path,
                   "line " + std::to_string(at) +
                       " has no three numbers x,y,z, separated by commas, semicolons or tabs");
    table.points.push_back(*p);
    table.cells.push_back(std::move(cells));
  }
  return table;
}

/// Of any of its coordinates.
bool has_decimal_commas(const PointTable& table) {
  return table.separator == ';' && std::ranges::any_of(table.cells, [&](const Cells& cells) {
           return std::ranges::any_of(
               table.columns, [&](std::size_t column) { return has_decimal_comma(cells[column]); });
         });
}

void write_number(std::ostream& out, double value, bool decimal_comma) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(6) << value;
  std::string digits = text.str();
  if (decimal_comma) std::ranges::replace(digits, '.', ',');
  out << digits;
}

}  // namespace

PointTable read_points(const std::string& path, const std::string& frame, bool may_be_of_another) {
  size_of_readable_file(path);
  PointTable table =
      is_markups_name(path) ? read_markups(path) : read_table(path, frame == "voxel");
  if (table.frame.empty()) table.frame = frame;
  if (table.frame != "lps" && table.frame != "ras" && table.frame != frame)
    fail_reading(path, "its CoordinateSystem is '" + table.frame + "', neither LPS nor RAS");
  if (frame != "lps" && table.frame != frame && !may_be_of_another)
    fail_reading(path, std::string("its CoordinateSystem is ") +
                           (table.frame == "lps" ? "LPS" : "RAS") + ", but --frame is " + frame +
                           "; leave --frame out");
  if (table.points.empty()) fail_reading(path, "it holds no point");
  if (table.frame != "voxel" && table.counts_voxels)
    fail_reading(path, "its columns count voxels, by their names; add --frame voxel");
  if (!table.unit.empty())
    fail_reading(path, "its columns are in " + table.unit + ", by their names; give points in mm");
  return table;
}

void write_points(const std::string& path, const PointTable& table) {
  if (!table.markups.empty()) return write_markups(path, table);
  std::ofstream file(path);
  if (!file) fail_writing(path, errno);
  if (!table.names.empty()) file << table.names << '\n';
  const bool commas = has_decimal_commas(table);
  for (std::size_t i = 0; i < table.points.size(); ++i)
    for (std::size_t c = 0; c < table.cells[i].size(); ++c) {
      const auto axis = std::find(table.columns.begin(), table.columns.end(), c);
      if (axis == table.columns.end())
        file << table.cells[i][c];
      else
        write_number(file, table.points[i][axis - table.columns.begin()], commas);
      file << (c + 1 < table.cells[i].size() ? table.separator : '\n');
    }
  file.close();
  if (!file) fail_cut_short(path);
}

}  // namespace freeflow::apps
