#include <apps/html.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string_view>

#include <freeflow/io/write_error.h>

namespace freeflow::apps {

namespace {

std::string base64(const std::string& bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned word = 0;
    for (std::size_t j = 0; j < 3; ++j)
      word = word << 8 | (i + j < bytes.size() ? (unsigned char)bytes[i + j] : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      out += i + j <= bytes.size() ? digits[word >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string data_url(const Picture& picture) {
  return "data:image/png;base64," + base64(png_of(picture));
}

std::string fixed_digits(double value, int digits) {
  if (!std::isfinite(value)) return "–";
  char text[360];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  const bool minus_nothing = std::string_view(text).find_first_not_of("-0.") == std::string::npos;
  return text[0] == '-' && minus_nothing ? text + 1 : text;
}

int length_digits(double voxel_mm, int digits) {
  constexpr double most = 9;
  return voxel_mm > 0 ? digits + int(std::clamp(std::ceil(-std::log10(5 * voxel_mm)), 0.0, most))
                      : digits;
}

std::string table_row(const std::vector<std::string>& cells, const char* tag) {
  std::string html = "<tr>";
  for (const std::string& cell : cells)
    html.append("<").append(tag).append(">").append(cell).append("</").append(tag).append(">");
  return html + "</tr>\n";
}

void write_page(const std::string& path, const std::string& html) {
  std::ofstream file(path, std::ios::binary);
  if (!file) fail_writing(path, errno);
  file << html;
  file.close();
  if (!file) fail_cut_short(path);
}

}  // namespace freeflow::apps
