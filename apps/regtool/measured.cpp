#include <apps/regtool/measured.h>

#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace freeflow::apps {

std::string text(const char* format, ...) {
  char line[400];
  va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  return line;
}

std::string cell(int width, int digits, double value) {
  return std::isnan(value) ? text("%*s", width, "-") : text("%*.*f", width, digits, value);
}

void add_all(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace freeflow::apps
