// Tables of files: a line of names, then a row per line, cells separated by tabs.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace freeflow::apps {

struct TableRow {
  std::string place;                         ///< "'pairs.tsv' line 3", for sentences
  std::map<std::string, std::string> cells;  ///< by column; empty cells are left out
};

struct TableColumns {
  std::vector<std::string> required, optional;
};

/// Of a text in UTF-8, as editors of Windows begin one.
void skip_byte_order_mark(std::ifstream& file);

struct TableLine {
  int number = 1;  ///< in the file
  std::vector<std::string> cells;
};

/// The first holds the names. Cells are separated by tabs, or by what the first line has instead
/// of them, commas or semicolons, and may stand in quotes, as spreadsheets and R write them;
/// [FILE,1] is one cell. Lines end as on any system. Those that are empty or begin with # are
/// passed over, as are empty cells beyond the last name. Throws IoError for a file that cannot be
/// read.
std::vector<TableLine> table_lines(const std::string& path);

/// Rows of known columns. Throws IoError for a file that cannot be
/// read, and InvalidArgument with the line for unknown, missing and repeated columns, for rows of
/// another length and for empty cells of a required column.
std::vector<TableRow> read_table(const std::string& path, const TableColumns& columns);

/// A path in a table is relative to the table's folder.
std::string path_in_table(const std::string& table, const std::string& path);

struct RowFiles {
  std::vector<std::string> read, written;
};

/// A table, what is written of how its rows ended, and a file of options; or nothing.
struct TableFiles {
  std::string table, summary, config = {};
};

/// Rows are worked on beside each other, so that none may write what another writes or reads, nor
/// the table, and the summary is none of all these files nor that of options: throws
/// InvalidArgument with the lines. `files` are those of each row.
void require_apart(const TableFiles& own, const std::vector<TableRow>& rows,
                   const std::vector<RowFiles>& files);

/// Runs a check so that its sentence begins with the row's place.
template <class Check>
void check_row(const TableRow& row, const Check& check);

}  // namespace freeflow::apps

#include <freeflow/core/error.h>

template <class Check>
void freeflow::apps::check_row(const TableRow& row, const Check& check) {
  try {
    check();
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(row.place + ": " + e.what());
  } catch (const IoError& e) {
    throw IoError(row.place + ": " + e.what());
  }
}
