#include <freeflow/io/length_unit.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string_view>

namespace freeflow {

namespace {

constexpr std::array names{"m",          "meter",       "metre",       "cm",          "centimeter",
                           "centimetre", "um",          "µm",          "μm",          "micron",
                           "micrometer", "micrometre",  "nm",          "nanometer",   "nanometre",
                           "microns",    "micrometers", "micrometres", "centimeters", "centimetres",
                           "nanometers", "nanometres",  "meters",      "metres",      "inch"};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

/// The first unit of another length among the words of a value, quoted or not.
std::string other_unit(const std::string& value) {
  std::string word;
  for (const char c : value + ' ')
    if (std::string_view(" \t\r\"").find(c) == std::string_view::npos)
      word += c;
    else if (std::ranges::find(names, lower(word)) != names.end())
      return word;
    else
      word.clear();
  return {};
}

std::string sentence_of(const std::string& path, const std::string& unit) {
  return "'" + path + "': its header names " + unit +
         " as the unit of length, and its numbers are taken for millimetres, as ITK takes them";
}

/// ITK makes one grid of a series that lacks slices, or has them at uneven distances, and keeps how
/// far the slices lay from it: by the value, in millimetres.
void warn_of_uneven_slices(const std::string& path, const std::string& value,
                           std::vector<std::string>& warnings) {
  const std::size_t begin = std::min(value.find_first_not_of("= "), value.size());
  double mm = 0;
  std::from_chars(value.data() + begin, value.data() + value.size(), mm);
  if (!(mm > 0) || !std::isfinite(mm)) return;
  char length[32];
  std::snprintf(length, sizeof length, "%.3g", mm);
  warnings.push_back("'" + path +
                     "': the slices it was made of lay unevenly, or some were missing (" + length +
                     " mm off, says ITK), and its grid spaces them evenly: what it shows lies "
                     "wrongly; convert the series with dcm2niix and take its _Eq file");
}

}  // namespace

void warn_of_lengths(const std::string& path, FileFormat format,
                     std::vector<std::string>& warnings) {
  const bool nrrd = format == FileFormat::nrrd;
  const char* const last = nrrd ? "" : "elementdatafile";
  bool said = false;
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t end = line.find(nrrd ? ':' : '=');
    std::string name = lower(line.substr(0, end));
    while (name.ends_with(' ')) name.pop_back();
    if (end != std::string::npos && name == "itk_non_uniform_sampling_deviation")
      warn_of_uneven_slices(path, line.substr(end + 1), warnings);
    const bool names_unit =
        nrrd ? name == "space units" || name == "units" : name == "distanceunits";
    if (const std::string unit = names_unit ? other_unit(line.substr(end + 1)) : "";
        !unit.empty() && !said) {
      warnings.push_back(sentence_of(path, unit));
      said = true;
    }
    if (name == last) return;
  }
}

}  // namespace freeflow
