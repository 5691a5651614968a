#include <apps/pair_list.h>

#include <filesystem>
#include <map>
#include <string>

#include <apps/table.h>

namespace freeflow::apps {

namespace {

CommonOptions options_of(const CommonOptions& all, const TableRow& row) {
  CommonOptions o = all;
  const auto file = [&](const char* column, std::string& path) {
    if (row.cells.contains(column)) path = path_in_table(all.pairs, row.cells.at(column));
  };
  o.fixed.resize(1);
  o.moving.resize(1);
  file("fixed", o.fixed[0]);
  file("moving", o.moving[0]);
  file("output", o.output);
  file("fixed_mask", o.fixed_mask);
  file("moving_mask", o.moving_mask);
  if (row.cells.contains("init")) {
    o.init = {row.cells.at("init")};
    if (!is_start_word(o.init[0])) file("init", o.init[0]);
  }
  if (row.cells.contains("init2")) file("init2", o.init.emplace_back());
  return o;
}

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

/// Pairs overlap in time, so that one must not read or write what another writes.
void check_apart(const std::vector<TableRow>& rows, const std::vector<CommonOptions>& pairs,
                 const NamesOf& names) {
  std::map<std::string, const TableRow*> written;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const OutputNames files = names(pairs[i]);
    for (const std::string& name : files.all()) {
      const auto [other, is_new] = written.emplace(absolute(files.prefix + name), &rows[i]);
      require(is_new, rows[i].place + ": the output '" + files.prefix + name +
                          "' is also that of " + other->second->place);
    }
  }
  for (std::size_t i = 0; i < pairs.size(); ++i)
    for (const std::string& input : input_files(pairs[i])) {
      const auto by = written.find(absolute(input));
      require(by == written.end(),
              rows[i].place + ": the input '" + input + "' is an output " +
                  (by == written.end() ? "" : "of " + by->second->place) +
                  "; give what builds on others a table of its own, and run it after them");
    }
}

std::vector<CommonOptions> pairs_of_table(const CommonOptions& o, const NamesOf& names) {
  require(o.fixed.empty() && o.moving.empty() && o.output.empty(),
          "--pairs names fixed and moving images and outputs: leave out -f, -m and -o");
  require(parse_outputs(o.outputs).report,
          "--pairs needs the report, by which a run goes on where it stopped: add it to --outputs");
  const std::vector<TableRow> rows = read_table(
      o.pairs, {{"fixed", "moving", "output"}, {"fixed_mask", "moving_mask", "init", "init2"}});
  std::vector<CommonOptions> pairs;
  for (const TableRow& row : rows)
    check_row(row, [&] {
      pairs.push_back(options_of(o, row));
      validate_files(pairs.back());
      protect_inputs(pairs.back(), names(pairs.back()));
    });
  check_apart(rows, pairs, names);
  return pairs;
}

}  // namespace

std::vector<CommonOptions> checked_pairs(const CommonOptions& o, const NamesOf& names) {
  if (o.pairs.empty()) {
    require(o.summary.empty(), "--summary goes with --pairs");
    validate_files(o);
    validate(o);
    protect_inputs(o, names(o));
    return {o};
  }
  validate(o);
  return pairs_of_table(o, names);
}

}  // namespace freeflow::apps
