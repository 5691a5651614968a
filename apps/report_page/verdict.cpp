#include <apps/report_page/verdict.h>

#include <algorithm>
#include <cmath>

#include <apps/html.h>
#include <apps/options.h>
#include <apps/report_page/report_values.h>

namespace freeflow::apps {

using nlohmann::ordered_json;

namespace {

std::string percent(double share) {
  return fixed_digits(100 * share, share > 0 && share < 0.01 ? 2 : 0) + " %";
}

double voxels_of(const ordered_json& report, const std::string& image) {
  double all = 1;
  for (const char* axis : {"/0", "/1", "/2"})
    all *= number_in(report, image + "/size" + axis).value_or(0);
  return all;
}

/// Volume in mm3 of the voxels that count of an image. Older reports have those inside its mask, or
/// of the part that was measured.
double counted_mm3(const ordered_json& report, const std::string& image) {
  double voxel = 1, count = voxels_of(report, image);
  for (const char* axis : {"/0", "/1", "/2"})
    voxel *= number_in(report, image + "/spacing_mm" + axis).value_or(0);
  for (const char* counted : {"/voxels_measured", "/voxels_in_mask", "/voxels_counted"})
    count = number_in(report, image + counted).value_or(count);
  return voxel * count;
}

/// Whether the moving image counts in a part of its grid alone; a hole or two make none.
bool counts_in_part(const ordered_json& report) {
  constexpr double nearly_all = 0.99;
  const auto counted = number_in(report, "/moving/voxels_counted");
  return number_in(report, "/moving/voxels_in_mask") ||
         number_in(report, "/moving/voxels_measured") ||
         (counted && *counted < nearly_all * voxels_of(report, "/moving"));
}

/// The share of the fixed image that the moving one has room for: a smaller field of view, or a
/// brain's mask on one side alone, leaves most of the other image's without a counterpart, which is
/// no fault. An affine that makes the fixed image larger than the moving one is none of these.
double possible_overlap(const ordered_json& report) {
  const bool part = counts_in_part(report);
  const double factor = volume_factor_of_affine(report).value_or(1),
               fixed = counted_mm3(report, "/fixed") * (part ? factor : std::min(factor, 1.0)),
               moving = counted_mm3(report, "/moving");
  return fixed > 0 && moving > 0 ? std::min(1.0, moving / fixed) : 1;
}

void judge_overlap(const ordered_json& report, std::vector<Finding>& findings) {
  const auto before = number_in(report, "/overlap_fraction/before"),
             after = number_in(report, "/overlap_fraction/after");
  if (!after) return;
  const double possible = possible_overlap(report), share = *after / possible;
  Finding finding{Grade::good,
                  percent(*after) + " of the fixed image's voxels fall on the moving image"};
  const bool masked = number_in(report, "/moving/voxels_in_mask").has_value();
  if (possible < 1)
    finding.text +=
        std::string(masked ? ", where its mask" : ", which") + " has room for " + percent(possible);
  if (before) finding.text += ", " + percent(*before) + " before";
  const bool lost = before && *after < *before * 2 / 3;
  if (share < 0.8 || lost) {
    finding.grade = share < 0.5 ? Grade::bad : Grade::look;
    finding.text +=
        "; see in the flicker whether the images show the same part of the body, and "
        "whether the start (--init) was right";
  }
  findings.push_back({finding.grade, finding.text + "."});
}

/// Interpolation blurs a little, which costs images that match already more than there is to gain:
/// a twentieth of what they share.
bool hardly_less(double before, double after) { return before - after < 0.05 * (before - 1); }

void judge_similarity(const ordered_json& report, std::vector<Finding>& findings) {
  const auto before = number_in(report, "/similarity/before"),
             affine = number_in(report, "/similarity/affine"),
             after = number_in(report, "/similarity/after");
  if (!after) {
    if (report.contains("similarity"))
      findings.push_back({Grade::look,
                          "similarity could not be measured: where the images lie on each other, "
                          "one of them is constant; look at the pictures."});
    return;
  }
  const std::string says = "similarity (NMI, 1 to 2) ";
  if (!before) {
    findings.push_back({Grade::good, says + "is " + fixed_digits(*after) +
                                         "; before, the images did not overlap."});
    return;
  }
  const std::string change =
      says + "went from " + fixed_digits(*before) + " to " + fixed_digits(*after);
  if (*after < *before && !hardly_less(*before, *after))
    findings.push_back({Grade::bad, change + ": the images match less than before; look at the "
                                             "differences before and after."});
  else if (affine && *after < *affine && !hardly_less(*affine, *after))
    findings.push_back(
        {Grade::look, change + ", but was " + fixed_digits(*affine) +
                          " after the affine: the displacement made the images match less; "
                          "look at the differences after the affine and after."});
  else if (*after < *before + 0.002)
    findings.push_back({Grade::look, change + ", hardly a change; see in the flicker whether the "
                                              "images were aligned already."});
  else
    findings.push_back({Grade::good, change + "."});
}

/// A start the other way round reads as well as the right one, and what follows may undo a part of
/// it.
void judge_start(const ordered_json& report, std::vector<Finding>& findings) {
  const auto before = number_in(report, "/similarity/before"),
             affine = number_in(report, "/similarity/affine");
  const std::vector<std::string> init = texts_in(report, "/inputs/init");
  if (!before || !affine || init.empty() || is_start_word(init.front())) return;
  if (*affine < *before && !hardly_less(*before, *affine))
    findings.push_back({Grade::look,
                        "after the affine, from the start that --init gives, "
                        "similarity was " +
                            fixed_digits(*affine) + ", less than " + fixed_digits(*before) +
                            " as the files lie: is the start the other way round?"});
}

void judge_folds(const ordered_json& report, std::vector<Finding>& findings) {
  const auto folded = number_in(report, "/jacobian/folded_voxels");
  if (!folded) return;
  if (*folded <= 0)
    findings.push_back({Grade::good, "no voxel is folded, at any of its corners."});
  else
    findings.push_back(
        {Grade::bad,
         fixed_digits(*folded, 0) + " voxels are folded (" +
             fixed_digits(number_in(report, "/jacobian/folded_percent").value_or(NAN), 4) +
             " %): there the deformation has no inverse; they are marked in the log-Jacobian "
             "map."});
}

void judge_volumes(const ordered_json& report, std::vector<Finding>& findings) {
  const auto low = number_in(report, "/jacobian/min"), high = number_in(report, "/jacobian/max"),
             sd = number_in(report, "/jacobian/sd_log");
  if (!low || !high || !sd) return;
  Finding finding{Grade::good, "volumes change by factors of " + fixed_digits(*low, 2) + " to " +
                                   fixed_digits(*high, 2) + ", log-Jacobian's SD " +
                                   fixed_digits(*sd, 2)};
  constexpr double hardly_anatomy = 100;  // times; brains of two people: 40 in single voxels
  if (*sd > 0.5 || *high > hardly_anatomy || *low < 1 / hardly_anatomy) {
    finding.grade = Grade::look;
    finding.text += ", which is much; see in the log-Jacobian map whether anatomy explains it";
  }
  findings.push_back({finding.grade, finding.text + "."});
}

void judge_inverse(const ordered_json& report, std::vector<Finding>& findings) {
  const auto mean = number_in(report, "/inverse_residual_voxels/mean"),
             most = number_in(report, "/inverse_residual_voxels/max");
  if (!mean || !most) return;
  Finding finding{Grade::good, "the inverse leaves " + fixed_digits(*mean, 4) +
                                   " voxel on average, " + fixed_digits(*most, 2) + " at most"};
  if (*mean > 0.1) {
    finding.grade = Grade::look;
    finding.text += "; do not rely on the way back where the log-Jacobian map is strongly coloured";
  }
  findings.push_back({finding.grade, finding.text + "."});
}

double longest_side_mm(const ordered_json& report) {
  double longest = 0;
  for (const char* axis : {"/0", "/1", "/2"})
    longest = std::max(longest,
                       number_in(report, std::string("/fixed/size") + axis).value_or(0) *
                           number_in(report, std::string("/fixed/spacing_mm") + axis).value_or(0));
  return longest;
}

void judge_displacement(const ordered_json& report, std::vector<Finding>& findings) {
  const auto mean = number_in(report, "/displacement_mm/mean"),
             p99 = number_in(report, "/displacement_mm/p99"),
             most = number_in(report, "/displacement_mm/max");
  if (!mean || !p99 || !most) return;
  const double side = longest_side_mm(report), voxel = voxel_mm(report);
  const int digits = length_digits(voxel, 2);
  Finding finding{Grade::good, "beyond the affine points move by " + fixed_digits(*mean, digits) +
                                   " mm on average, " + fixed_digits(*p99, digits) +
                                   " mm for 99 %, " + fixed_digits(*most, digits) + " mm at most"};
  if (side > 0 && *most > side / 4) {
    finding.grade = Grade::look;
    finding.text += ", more than a quarter of the image; see in the deformation grid where";
  } else if (*most < voxel / 100) {
    finding.grade = Grade::look;
    finding.text += ": nothing moved";
  }
  findings.push_back({finding.grade, finding.text + "."});
}

void judge_warnings(const ordered_json& report, std::vector<Finding>& findings) {
  const std::size_t warnings = texts_in(report, "/warnings").size();
  if (warnings == 0) return;
  findings.push_back(
      {Grade::look, (warnings == 1 ? "the program warned once"
                                   : "the program warned " + std::to_string(warnings) + " times") +
                        "; the sentences stand under Warnings."});
}

std::string sentence_of(Grade grade) {
  if (grade == Grade::bad) return "Do not use this result as it is.";
  if (grade == Grade::look) return "Look at this result before you use it.";
  return "Nothing in the figures speaks against this result.";
}

}  // namespace

const char* word_of(Grade grade) {
  return grade == Grade::bad ? "bad" : grade == Grade::look ? "look" : "good";
}

Verdict verdict_of(const ordered_json& report) {
  Verdict verdict;
  for (const auto judge : {judge_overlap, judge_similarity, judge_start, judge_folds, judge_volumes,
                           judge_inverse, judge_displacement, judge_warnings})
    judge(report, verdict.findings);
  for (Finding& finding : verdict.findings) {
    if (!finding.text.empty()) finding.text[0] = char(std::toupper(finding.text[0]));
    verdict.grade = std::max(verdict.grade, finding.grade);
  }
  verdict.sentence = sentence_of(verdict.grade);
  return verdict;
}

ordered_json summary_json(const Verdict& verdict) {
  ordered_json json{{"grade", word_of(verdict.grade)},
                    {"verdict", verdict.sentence},
                    {"findings", ordered_json::array()}};
  for (const Finding& f : verdict.findings)
    json["findings"].push_back({{"grade", word_of(f.grade)}, {"text", f.text}});
  return json;
}

}  // namespace freeflow::apps
