#include <apps/pair_list.h>

#include <string>

#include <apps/table.h>
#include <freeflow/io/output_set.h>

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
  o.output = begin_of_names(o.output);
  file("fixed_mask", o.fixed_mask);
  file("moving_mask", o.moving_mask);
  if (row.cells.contains("init")) {
    o.init = {row.cells.at("init")};
    if (!is_start_word(o.init[0])) file("init", o.init[0]);
  }
  if (row.cells.contains("init2")) file("init2", o.init.emplace_back());
  return o;
}

std::vector<CommonOptions> pairs_of_table(const CommonOptions& o, const NamesOf& names) {
  require(o.fixed.empty() && o.moving.empty() && o.output.empty(),
          "--pairs names fixed and moving images and outputs: leave out -f, -m and -o");
  require(parse_outputs(o.outputs).report,
          "--pairs needs the report, by which a run goes on where it stopped: add it to --outputs");
  require(o.report != "html",
          "--pairs needs report.json, by which a run goes on where it stopped: --report both");
  const std::vector<TableRow> rows = read_table(
      o.pairs, {{"fixed", "moving", "output"}, {"fixed_mask", "moving_mask", "init", "init2"}});
  std::vector<CommonOptions> pairs;
  std::vector<RowFiles> files;
  for (const TableRow& row : rows)
    check_row(row, [&] {
      const CommonOptions pair = options_of(o, row);
      validate_files(pair);
      const OutputNames outputs = names(pair);
      protect_inputs(pair, outputs);
      files.push_back({input_files(pair), {}});
      for (const std::string& name : outputs.all())
        files.back().written.push_back(outputs.prefix + name);
      pairs.push_back(pair);
    });
  require_apart({o.pairs, o.summary, o.config}, rows, files);
  return pairs;
}

}  // namespace

std::vector<CommonOptions> checked_pairs(const CommonOptions& o, const NamesOf& names) {
  if (o.pairs.empty()) {
    require(o.summary.empty(), "--summary goes with --pairs");
    require(o.jobs == 0, "--jobs goes with --pairs");
    validate_files(o);
    validate(o);
    protect_inputs(o, names(o));
    return {o};
  }
  validate(o);
  return pairs_of_table(o, names);
}

}  // namespace freeflow::apps
