#include <apps/report_page/group.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include <apps/report_page/finished_run.h>
#include <apps/report_page/report_values.h>
#include <apps/report_page/verdict.h>
#include <freeflow/core/error.h>

namespace freeflow::apps {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

std::optional<double> log_volume_of_affine(const ordered_json& report) {
  const double log_volume = std::abs(std::log(volume_factor_of_affine(report).value_or(0)));
  return std::isfinite(log_volume) ? std::optional(log_volume) : std::nullopt;
}

GroupMember member_of(const fs::path& path, const fs::path& folder, const ordered_json& report) {
  GroupMember m;
  m.report = path;
  m.name = path.lexically_relative(folder).generic_string();
  for (const char* end : {"report.json", ".json"})
    if (m.name.ends_with(end)) m.name.resize(m.name.size() - std::string(end).size());
  while (!m.name.empty() && (m.name.back() == '_' || m.name.back() == '/')) m.name.pop_back();
  if (m.name.empty()) m.name = path.filename().string();
  m.program = text_in(report, "/program");
  m.grade = text_in(report, "/summary/grade");
  if (m.grade.empty()) m.grade = word_of(verdict_of(report).grade);
  m.similarity.value = number_in(report, "/similarity/after");
  m.linear = is_linear_run(report);
  m.volumes.value = m.linear ? log_volume_of_affine(report) : number_in(report, "/jacobian/sd_log");
  m.displacement.value = number_in(report, "/displacement_mm/p99");
  m.voxel_mm = voxel_mm(report);
  m.folded_voxels = number_in(report, "/jacobian/folded_voxels").value_or(0);
  m.warnings = texts_in(report, "/warnings").size();
  return m;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The median deviation of few is near 0 by chance: of three normal numbers one lies beyond 3.5 in
/// 29 of 100 cases. Scores that are divided by this do so in about five, whatever the number
/// (fitted to 200,000 drawn groups of each size from 3 to 20).
double widening(std::size_t n) { return n > 2 ? 1 + 5.3 / std::pow(double(n) - 2, 1.3) : 1; }

/// Of those members that have the figure.
void score(std::span<GroupMember> members, GroupFigure GroupMember::*figure, bool low_only) {
  std::vector<double> values;
  for (const GroupMember& m : members)
    if ((m.*figure).value) values.push_back(*(m.*figure).value);
  if (values.empty()) return;
  const double middle = median(values);
  const std::vector<double> scores = robust_scores(values);
  const double wider = widening(values.size());
  std::size_t i = 0;
  for (GroupMember& m : members) {
    GroupFigure& f = m.*figure;
    if (!f.value) continue;
    f.score = low_only && *f.value > middle ? 0 : scores[i] / wider;
    m.score = std::max(m.score, f.score);
    ++i;
  }
}

bool may_be_report(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with("report.json") || name.ends_with("_xfm.json");
}

std::vector<fs::path> reports_below(const fs::path& folder) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  if (error) throw IoError("cannot read the folder '" + folder.string() + "': " + error.message());
  std::vector<fs::path> reports;
  for (const fs::recursive_directory_iterator end; entry != end; entry.increment(error)) {
    std::error_code none;
    if (entry->is_directory(none) && entry->path().filename().string().starts_with('.'))
      entry.disable_recursion_pending();
    else if (entry->is_regular_file(none) && may_be_report(entry->path()))
      reports.push_back(entry->path());
  }
  // which has made an end of it
  if (error) throw IoError("cannot read below '" + folder.string() + "': " + error.message());
  std::ranges::sort(reports);
  return reports;
}

/// Bad before good; what an older program called otherwise is to be looked at.
int order_of_grade(const GroupMember& m) {
  return m.grade == "bad" ? 0 : m.grade == "good" ? 2 : 1;
}

}  // namespace

std::vector<double> robust_scores(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> apart;
  apart.reserve(values.size());
  double sum = 0;
  for (const double v : values) {
    apart.push_back(std::abs(v - middle));
    sum += apart.back();
  }
  double unit = 1.4826 * median(apart);
  if (unit <= 0) unit = 1.2533 * sum / double(values.size());
  std::vector<double> scores;
  scores.reserve(values.size());
  for (const double a : apart) scores.push_back(unit > 0 ? a / unit : 0);
  return scores;
}

void rank(std::vector<GroupMember>& members) {
  const auto kind = [](const GroupMember& m) { return std::tie(m.program, m.linear); };
  std::ranges::sort(members, {}, kind);
  for (auto first = members.begin(); first != members.end();) {
    const auto [begin, end] = std::equal_range(
        first, members.end(), *first,
        [&](const GroupMember& a, const GroupMember& b) { return kind(a) < kind(b); });
    const std::span alike(begin, end);
    score(alike, &GroupMember::similarity, true);
    score(alike, &GroupMember::volumes, false);
    score(alike, &GroupMember::displacement, false);
    first = end;
  }
  std::ranges::sort(members, [](const GroupMember& a, const GroupMember& b) {
    return std::tuple(order_of_grade(a), -a.score, a.name) <
           std::tuple(order_of_grade(b), -b.score, b.name);
  });
}

Group read_group(const fs::path& folder) {
  Group group;
  for (const fs::path& path : reports_below(folder)) {
    std::ifstream file(path);
    const ordered_json report = ordered_json::parse(file, nullptr, false);
    if (report.is_discarded())
      group.unreadable.push_back(path);
    else if (is_registration_report(report))
      group.members.push_back(member_of(path, folder, report));
  }
  require(!group.members.empty(), "no report of ffdreg, fluidreg or linreg lies below '" +
                                      folder.string() +
                                      "'; name the folder that their outputs went to");
  rank(group.members);
  return group;
}

}  // namespace freeflow::apps
