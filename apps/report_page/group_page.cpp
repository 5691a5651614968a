#include <algorithm>
#include <array>
#include <sstream>

#include <apps/html.h>
#include <apps/report_page/group.h>
#include <apps/report_page/page.h>

namespace freeflow::apps {

namespace fs = std::filesystem;

namespace {

struct Shown {
  const char *name, *head;
  GroupFigure GroupMember::*figure;
  int digits;  ///< of lengths: for voxels of a millimetre
  bool is_length = false;

  int digits_in(const Group& group) const {
    if (!is_length || group.members.empty()) return digits;
    return length_digits(
        std::ranges::min_element(group.members, {}, &GroupMember::voxel_mm)->voxel_mm, digits);
  }
};
constexpr std::array<Shown, 3> figures{
    {{"similarity (NMI)", "NMI", &GroupMember::similarity, 3},
     {"log-Jacobian's SD", "SD log J", &GroupMember::volumes, 3},
     {"displacement of 99 %, mm", "99 % mm", &GroupMember::displacement, 2, true}}};

/// A path as a link has it.
std::string url_of(const fs::path& path) {
  constexpr const char* kept =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~/";
  constexpr const char* digits = "0123456789ABCDEF";
  std::string url;
  for (const char c : path.generic_string())
    if (std::string_view(kept).find(c) != std::string_view::npos)
      url += c;
    else
      url.append("%").append(1, digits[(unsigned char)c >> 4]).append(1, digits[c & 15]);
  // A name with a colon before the first slash would be taken for a scheme.
  return "./" + url;
}

std::string link(const GroupMember& m, const fs::path& page_folder) {
  const fs::path page = fs::path(m.report).replace_extension(".html");
  std::error_code none;
  if (!fs::exists(page, none)) return escaped(m.name);
  return "<a href=\"" +
         url_of(fs::absolute(page).lexically_normal().lexically_relative(page_folder)) + "\">" +
         escaped(m.name) + "</a>";
}

std::string cell(const GroupFigure& f, int digits) {
  if (!f.value) return "–";
  const std::string value = fixed_digits(*f.value, digits);
  return f.score > GroupMember::outlier ? "<span class=\"bad tag\">" + value + "</span>" : value;
}

std::string table(const Group& group, const fs::path& page_folder) {
  std::vector<std::string> heads{"score", "registration", "verdict"};
  for (const Shown& s : figures) heads.push_back(s.head);
  heads.insert(heads.end(), {"folded", "warnings"});
  std::string html = table_row(heads, "th");
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const GroupMember& m = group.members[i];
    const bool known = m.grade == "good" || m.grade == "bad";
    std::vector<std::string> cells{
        "<span id=\"s" + std::to_string(i) + "\">" + fixed_digits(m.score, 1) + "</span>",
        link(m, page_folder),
        "<span class=\"tag " + (known ? m.grade : "look") + "\">" + escaped(m.grade) + "</span>"};
    for (const Shown& s : figures) cells.push_back(cell(m.*s.figure, s.digits_in(group)));
    cells.push_back(fixed_digits(m.folded_voxels, 0));
    cells.push_back(std::to_string(m.warnings));
    html += table_row(cells);
  }
  return "<div class=\"scroll\"><table>\n" + html + "</table></div>\n";
}

/// Every registration as a dot along the figure's range; a click goes to its row.
std::string dots(const Group& group, const Shown& shown) {
  double low = INFINITY, high = -INFINITY;
  for (const GroupMember& m : group.members)
    if (const auto value = (m.*shown.figure).value) {
      low = std::min(low, *value);
      high = std::max(high, *value);
    }
  if (low > high) return {};
  constexpr double width = 900, margin = 8;
  const int digits = shown.digits_in(group);
  std::ostringstream html;
  html << "<figure class=\"dots\"><figcaption>" << shown.name << ", " << fixed_digits(low, digits)
       << " to " << fixed_digits(high, digits) << "</figcaption><svg viewBox=\"0 0 " << width
       << " 44\" role=\"img\" aria-label=\"" << shown.name << " of every registration\">";
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const GroupMember& m = group.members[i];
    const GroupFigure& f = m.*shown.figure;
    if (!f.value) continue;
    const double share = high > low ? (*f.value - low) / (high - low) : 0.5;
    const bool outlier = f.score > GroupMember::outlier;
    html << "<a href=\"#s" << i << "\"><circle cx=\""
         << fixed_digits(margin + share * (width - 2 * margin), 1) << "\" cy=\"" << 8 + i * 7 % 29
         << "\" r=\"4\" fill=\"var(--" << (outlier ? "bad" : "accent") << ")\" fill-opacity=\""
         << (outlier ? ".9" : ".35") << "\"><title>" << escaped(m.name) << "</title></circle></a>";
  }
  html << "</svg></figure>\n";
  return html.str();
}

std::string said_of_linear(const Group& group) {
  if (std::ranges::none_of(group.members, &GroupMember::linear)) return {};
  return " Of a linear registration the log-volume of its affine, without its sign, stands in "
         "place of the log-Jacobian's SD.";
}

}  // namespace

std::string group_page(const Group& group, const std::string& title, const fs::path& page) {
  std::size_t outliers = 0, bad = 0, look = 0;
  for (const GroupMember& m : group.members) {
    outliers += m.score > GroupMember::outlier;
    bad += m.grade == "bad";
    look += m.grade != "bad" && m.grade != "good";
  }
  std::string html =
      page_head(title) + "<header><h1>" + escaped(title) + "</h1>\n<p class=\"soft\">" +
      std::to_string(group.members.size()) + " registrations, " + std::to_string(outliers) +
      " of them outliers; by their verdicts " + std::to_string(bad) + " bad and " +
      std::to_string(look) +
      " to be looked at. Worst first: by the verdict, then by the score.</p></header>\n<p>The "
      "score is the largest distance of the "
      "three figures from the median of the registrations by the same program, in robust standard "
      "deviations (1.48 times the median absolute deviation); similarity counts where it is low. "
      "Above " +
      fixed_digits(GroupMember::outlier, 1) +
      " look at the registration; a group that failed as a whole has no outliers, so look at a few "
      "in the middle too. A pair that failed has no report, so it is not listed here: --summary "
      "names it." +
      said_of_linear(group) + "</p>\n";
  for (const Shown& s : figures) html += dots(group, s);
  html += table(group, fs::absolute(page).lexically_normal().parent_path());
  if (!group.unreadable.empty()) {
    html += "<h2>Reports that cannot be read</h2>\n<ul>\n";
    for (const fs::path& path : group.unreadable)
      html += "<li>" + escaped(path.string()) + "</li>\n";
    html += "</ul>\n";
  }
  return html + "</body></html>\n";
}

}  // namespace freeflow::apps
