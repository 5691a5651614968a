#include <apps/report_page/plots.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include <apps/html.h>
#include <apps/report_page/report_values.h>

namespace freeflow::apps {

using nlohmann::ordered_json;

namespace {

struct Curve {
  std::string stage, grid, stopped;
  double number = 0, seconds = 0;
  std::optional<double> most;
  double iterations = 0;
  std::vector<double> costs;  ///< the first is the start's
};

Curve curve_of(const std::string& stage, const ordered_json& level) {
  Curve curve;
  curve.stage = stage;
  curve.number = number_in(level, "/level").value_or(0);
  curve.seconds = number_in(level, "/seconds").value_or(NAN);
  curve.most = number_in(level, "/iterations_at_most");
  curve.stopped = text_in(level, "/stopped_because");
  for (const char* axis : {"/grid/0", "/grid/1", "/grid/2"})
    curve.grid +=
        (curve.grid.empty() ? "" : "×") + fixed_digits(number_in(level, axis).value_or(NAN), 0);
  for (const ordered_json& iteration : value_in(level, "/iterations"))
    if (const auto cost = number_in(iteration, "/cost")) {
      curve.costs.push_back(*cost);
      curve.iterations = number_in(iteration, "/iteration").value_or(0);
    }
  return curve;
}

void add_curves(const std::string& stage, const ordered_json& levels, std::vector<Curve>& curves) {
  if (!levels.is_array()) return;
  for (const ordered_json& level : levels)
    if (level.is_object()) curves.push_back(curve_of(stage, level));
}

std::string svg(const Curve& curve) {
  constexpr double width = 208, height = 96, left = 3, top = 6;
  const auto [low, high] = std::ranges::minmax(curve.costs);
  const double range = high > low ? high - low : 1;
  const double steps = double(std::max<std::size_t>(curve.costs.size() - 1, 1));
  std::ostringstream html;
  html << "<svg viewBox=\"0 0 " << width << ' ' << height
       << "\" role=\"img\" aria-label=\"cost over iterations\"><path d=\"M" << left << ' '
       << height - 4 << "H" << width << "\" stroke=\"var(--line)\"/><path fill=\"none\" "
       << "stroke=\"var(--accent)\" stroke-width=\"1.6\" stroke-linejoin=\"round\" d=\"M";
  // More points than pixels say nothing more.
  const std::size_t every = curve.costs.size() / 208 + 1;
  for (std::size_t i = 0; i < curve.costs.size(); ++i)
    if (i % every == 0 || i + 1 == curve.costs.size())
      html << fixed_digits(left + (width - 2 * left) * double(i) / steps, 1) << ' '
           << fixed_digits(top + (height - top - 8) * (high - curve.costs[i]) / range, 1) << ' ';
  html << "\"/></svg>";
  return html.str();
}

}  // namespace

std::string cost_section(const ordered_json& report) {
  std::vector<Curve> curves;
  const bool alone = is_linear_run(report);
  add_curves("affine", value_in(report, "/linear/levels"), curves);
  add_curves(alone ? "affine" : "nonrigid", value_in(report, "/levels"), curves);
  if (curves.empty()) return {};
  std::string plots,
      table = table_row(
          {"level", "voxels", "iterations", "cost, first and last", "seconds", "ended"}, "th");
  for (const Curve& curve : curves) {
    const std::string name = curve.stage + " " + fixed_digits(curve.number, 0);
    const bool several = curve.stage == "affine";  // descents, each of which may take the most
    const std::string count =
        fixed_digits(curve.iterations, 0) +
        (!several && curve.most && *curve.most > 0 ? " of " + fixed_digits(*curve.most, 0) : "");
    std::string costs;
    if (!curve.costs.empty())
      costs = fixed_digits(curve.costs.front(), 5) + " → " + fixed_digits(curve.costs.back(), 5);
    if (curve.costs.size() > 1)
      plots += "<figure>" + svg(curve) + "<figcaption>" + name + ", " + curve.grid +
               "</figcaption></figure>\n";
    table += table_row(
        {name, curve.grid, count, costs, fixed_digits(curve.seconds, 2), escaped(curve.stopped)});
  }
  const std::string linear =
      curves.front().stage == "affine"
          ? " Those of the affine stage may be of descents from several starts, one after another."
          : "";
  return "<h2>Cost</h2>\n<p class=\"soft\">Per iteration, lower is better; every level has a scale "
         "of its own." +
         linear + "</p>\n<div class=\"plots\">\n" + plots +
         "</div>\n<div class=\"scroll\"><table>\n" + table + "</table></div>\n";
}

}  // namespace freeflow::apps
