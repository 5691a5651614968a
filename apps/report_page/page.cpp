#include <apps/report_page/page.h>

#include <cmath>
#include <cstdint>

#include <apps/html.h>
#include <apps/report_page/picture_sections.h>
#include <apps/report_page/plots.h>
#include <apps/report_page/report_values.h>
#include <apps/report_page/style.h>
#include <apps/report_page/verdict.h>

namespace freeflow::apps {

using nlohmann::ordered_json;

namespace {

std::string joined(const std::vector<std::string>& texts, const char* between = ", ") {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
  return all;
}

/// "160 × 192 × 224", of an array of three numbers.
std::string three(const ordered_json& array, int digits, const char* between = " × ") {
  std::string all;
  for (const char* axis : {"/0", "/1", "/2"})
    all +=
        (all.empty() ? "" : between) + fixed_digits(number_in(array, axis).value_or(NAN), digits);
  return all;
}

std::string verdict_box(const ordered_json& report) {
  const ordered_json made =
      report.contains("summary") ? ordered_json() : summary_json(verdict_of(report));
  const ordered_json& summary = made.is_null() ? report["summary"] : made;
  const auto grade_in = [](const ordered_json& of) {
    const std::string grade = text_in(of, "/grade");
    return grade == "good" || grade == "bad" ? grade : std::string("look");
  };
  std::string html = "<section class=\"verdict " + grade_in(summary) + "\"><strong>" +
                     escaped(text_in(summary, "/verdict")) + "</strong>\n<ul>\n";
  for (const ordered_json& finding : value_in(summary, "/findings"))
    html +=
        "<li class=\"" + grade_in(finding) + "\">" + escaped(text_in(finding, "/text")) + "</li>\n";
  return html +
         "</ul>\n<p class=\"soft\">Figures do not see everything: a registration can be smooth and "
         "wrong. Let the images flicker, follow the edges, and see whether the deformation is one "
         "that the anatomy could make.</p></section>\n";
}

std::string warnings_section(const ordered_json& report) {
  const std::vector<std::string> warnings = texts_in(report, "/warnings");
  if (warnings.empty()) return {};
  std::string html = "<h2>Warnings</h2>\n<ul>\n";
  for (const std::string& warning : warnings) html += "<li>" + escaped(warning) + "</li>\n";
  return html + "</ul>\n";
}

std::string geometry_section(const ordered_json& report) {
  std::string rows = table_row({"", "fixed", "moving"}, "th");
  const auto add = [&](const char* what, const auto& of_side) {
    rows += table_row({what, of_side("fixed"), of_side("moving")});
  };
  const double voxel = voxel_mm(report);
  const auto triple = [&](const char* field, int digits, const char* between) {
    return [=, &report](const std::string& side) {
      return three(value_in(report, "/" + side + field), digits, between);
    };
  };
  add("file", [&](const std::string& side) {
    return escaped(joined(texts_in(report, "/inputs/" + side)));
  });
  add("voxels", triple("/size", 0, " × "));
  add("spacing, mm", triple("/spacing_mm", length_digits(voxel, 3), " × "));
  add("origin, mm, LPS", triple("/origin_mm_lps", length_digits(voxel, 2), ", "));
  add("axes, to the left", triple("/direction_lps/0", 4, ", "));
  add("posterior", triple("/direction_lps/1", 4, ", "));
  add("superior", triple("/direction_lps/2", 4, ", "));
  add("voxels without a value", [&](const std::string& side) {
    return fixed_digits(number_in(report, "/" + side + "/voxels_without_value").value_or(NAN), 0);
  });
  return "<h2>Geometry</h2>\n<p class=\"soft\">As it was read; warped images lie on the "
         "fixed image's grid.</p>\n<div class=\"scroll\"><table>\n" +
         rows + "</table></div>\n";
}

std::string mebibytes(const ordered_json& report, const std::string& pointer) {
  const auto bytes = number_in(report, pointer);
  return bytes ? fixed_digits(*bytes / 1048576, 0) + " MiB" : std::string();
}

std::string costs_of_the_run(const ordered_json& report) {
  std::string seconds;
  const ordered_json& stages = value_in(report, "/seconds");
  if (stages.is_object())
    for (const auto& [stage, value] : stages.items())
      if (value.is_number())
        seconds += (seconds.empty() ? "" : ", ") + escaped(stage) + " " +
                   fixed_digits(value.get<double>(), 2) + " s";
  std::string rows;
  const auto add = [&](const char* what, const std::string& says) {
    if (!says.empty()) rows += table_row({what, says});
  };
  add("time", seconds);
  add("memory", joined({"host " + mebibytes(report, "/memory_bytes/peak_host"),
                        "device " + mebibytes(report, "/memory_bytes/peak_device"),
                        "foreseen " + mebibytes(report, "/memory_bytes/predicted_device")}));
  add("device",
      escaped(text_in(report, "/device/name") + " (" + text_in(report, "/device/description") +
              "), " + fixed_digits(number_in(report, "/device/threads").value_or(NAN), 0) +
              " threads"));
  add("program",
      escaped(text_in(report, "/program") + " (FreeFlow) " + text_in(report, "/version")));
  add("date", escaped(text_in(report, "/date")));
  add("folder", escaped(text_in(report, "/inputs/folder")));
  std::string outputs;
  const ordered_json& written = value_in(report, "/outputs");
  if (written.is_object())
    for (const auto& [kind, none] : written.items())
      outputs +=
          (outputs.empty() ? "" : "<br>") + escaped(joined(texts_in(written, "/" + kind), ", "));
  add("outputs", outputs);
  return "<table>\n" + rows + "</table>\n";
}

std::string run_section(const ordered_json& report) {
  std::string options;
  const ordered_json& given = value_in(report, "/options");
  if (given.is_object())
    for (const auto& [name, value] : given.items())
      options += table_row(
          {"--" + escaped(name),
           escaped(value.is_string()
                       ? value.get<std::string>()
                       : value.dump(-1, ' ', false, ordered_json::error_handler_t::replace))});
  const std::string command = text_in(report, "/command");
  return "<h2>Run</h2>\n" + (command.empty() ? "" : "<pre>" + escaped(command) + "</pre>\n") +
         costs_of_the_run(report) + "<details><summary>All options</summary><table>" + options +
         "</table></details>\n";
}

}  // namespace

std::string page_head(const std::string& title, const std::string& more_style) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
         "name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<link rel=\"icon\" "
         "href=\"data:,\">\n<title>" +
         escaped(title) + "</title>\n<style>" + page_style + "\n" + more_style +
         "</style></head><body>\n";
}

std::string registration_page(const std::string& name, const ordered_json& report,
                              const PagePictures& pictures) {
  const std::vector<std::string> fixed = texts_in(report, "/inputs/fixed"),
                                 moving = texts_in(report, "/inputs/moving");
  return page_head(name, picture_style(pictures)) + "<header><h1>" + escaped(name) +
         "</h1>\n<p class=\"soft\">" + escaped(joined(moving)) + " onto " + escaped(joined(fixed)) +
         ", by " + escaped(text_in(report, "/program")) + "</p></header>\n" + verdict_box(report) +
         warnings_section(report) + image_sections(pictures) + deformation_section(pictures) +
         cost_section(report) + geometry_section(report) + run_section(report) + "</body></html>\n";
}

}  // namespace freeflow::apps
