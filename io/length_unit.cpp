#include <freeflow/io/length_unit.h>

#include <algorithm>
#include <array>
#include <cctype>
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

}  // namespace

void warn_of_length_unit(const std::string& path, FileFormat format,
                         std::vector<std::string>& warnings) {
  const bool nrrd = format == FileFormat::nrrd;
  const char* const last = nrrd ? "" : "elementdatafile";
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t end = line.find(nrrd ? ':' : '=');
    std::string name = lower(line.substr(0, end));
    while (name.ends_with(' ')) name.pop_back();
    const bool names_unit =
        nrrd ? name == "space units" || name == "units" : name == "distanceunits";
    if (const std::string unit = names_unit ? other_unit(line.substr(end + 1)) : "";
        !unit.empty()) {
      warnings.push_back(sentence_of(path, unit));
      return;
    }
    if (name == last) return;
  }
}

}  // namespace freeflow
