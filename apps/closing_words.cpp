#include <apps/closing_words.h>

#include <apps/html.h>
#include <apps/report_page/report_values.h>

namespace freeflow::apps {

using nlohmann::ordered_json;

namespace {

/// Parts with commas between them, as a line of its own.
class Line {
 public:
  explicit Line(std::string start) : text_(std::move(start)) {}
  void add(const std::string& part) { (text_ += empty_ ? " " : ", ") += part, empty_ = false; }
  std::string ended() const { return empty_ ? "" : text_ + '\n'; }

 private:
  std::string text_;
  bool empty_ = true;
};

/// "0.512 -> 0.861", or what is known of it.
std::string change(const ordered_json& report, const std::string& of, double factor, int digits) {
  const auto before = number_in(report, of + "/before"), after = number_in(report, of + "/after");
  if (!after) return "";
  return (before ? fixed_digits(factor * *before, digits) + " -> " : "") +
         fixed_digits(factor * *after, digits);
}

std::string match(const ordered_json& report) {
  Line line("  match:");
  if (const std::string nmi = change(report, "/similarity", 1, 3); !nmi.empty())
    line.add("NMI " + nmi);
  if (const std::string overlap = change(report, "/overlap_fraction", 100, 0); !overlap.empty())
    line.add("overlap " + overlap + " %");
  return line.ended();
}

std::string deformation(const ordered_json& report) {
  Line line("  deformation:");
  if (const auto mean = number_in(report, "/displacement_mm/mean"),
      most = number_in(report, "/displacement_mm/max");
      mean && most) {
    const int digits = length_digits(voxel_mm(report), 1);
    line.add(fixed_digits(*mean, digits) + " mm on average and " + fixed_digits(*most, digits) +
             " at most");
  }
  if (const auto low = number_in(report, "/jacobian/min"),
      high = number_in(report, "/jacobian/max");
      low && high)
    line.add("volumes times " + fixed_digits(*low, 2) + " to " + fixed_digits(*high, 2));
  if (const auto folded = number_in(report, "/jacobian/folded_voxels"); folded)
    line.add(*folded > 0 ? fixed_digits(*folded, 0) + " voxels folded" : "no fold");
  return line.ended();
}

std::string written(const OutputNames& names) {
  std::string files;
  for (const std::string& name : names.all()) (files += files.empty() ? "" : ", ") += name;
  return written_line(names.prefix + " + " + files);
}

}  // namespace

std::string time_line(const ordered_json& seconds) {
  if (!seconds.is_object()) return "";
  double sum = 0;
  std::string parts;
  for (const auto& [stage, value] : seconds.items()) {
    if (!value.is_number()) continue;
    sum += value.get<double>();
    (parts += parts.empty() ? "" : ", ") += stage + ' ' + fixed_digits(value.get<double>(), 2);
  }
  return "  time: " + fixed_digits(sum, 1) + " s (" + parts + ")\n";
}

std::string written_line(const std::string& files) { return "  written: " + files + '\n'; }

std::string closing_words(const std::string& program, const ordered_json& report,
                          const OutputNames& names) {
  const std::string verdict = text_in(report, "/summary/verdict");
  return program + ": " + (verdict.empty() ? "done." : verdict) + '\n' + match(report) +
         deformation(report) + time_line(value_in(report, "/seconds")) + written(names);
}

}  // namespace freeflow::apps
