#include <apps/regtool/point_table.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>

#include <freeflow/core/error.h>
#include <freeflow/io/file_checks.h>
#include <freeflow/io/write_error.h>

namespace freeflow::apps {

PointTable read_points(const std::string& path) {
  size_of_readable_file(path);
  std::ifstream file(path);
  if (!file) throw IoError("cannot read '" + path + "': it cannot be opened");
  PointTable table;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    double x = NAN, y = NAN, z = NAN;
    int used = 0;
    const bool point = std::sscanf(line.c_str(), " %lf , %lf , %lf%n", &x, &y, &z, &used) == 3 &&
                       std::isfinite(x + y + z);
    if (!point && number == 1) {
      table.names = line;
      continue;
    }
    if (!point)
      throw IoError("cannot read '" + path + "': line " + std::to_string(number) +
                    " does not begin with three numbers x,y,z");
    table.points.emplace_back(x, y, z);
    table.rest.push_back(line.substr(std::size_t(used)));
  }
  if (table.points.empty()) throw IoError("cannot read '" + path + "': it holds no point");
  return table;
}

void write_points(const std::string& path, const PointTable& table) {
  std::ofstream file(path);
  if (!file) fail_writing(path, errno);
  if (!table.names.empty()) file << table.names << '\n';
  for (std::size_t i = 0; i < table.points.size(); ++i) {
    const Eigen::Vector3d& p = table.points[i];
    char numbers[100];
    std::snprintf(numbers, sizeof numbers, "%.6f,%.6f,%.6f", p.x(), p.y(), p.z());
    file << numbers << table.rest[i] << '\n';
  }
  file.close();
  if (!file) fail_cut_short(path);
}

}  // namespace freeflow::apps
