#include <apps/regtool/markups.h>

#include <cerrno>
#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/write_error.h>

using nlohmann::ordered_json;

namespace freeflow::apps {

namespace {

/// Calls f(position) for the control points that have one.
template <class F>
void for_each_position(ordered_json& file, F&& f) {
  for (ordered_json& markup : file.at("markups"))
    for (ordered_json& control : markup.at("controlPoints"))
      if (control.value("positionStatus", "defined") != "undefined") f(control.at("position"));
}

/// One for all markups of the file.
std::string coordinate_system(const std::string& path, const ordered_json& file) {
  std::string system;
  for (const ordered_json& markup : file.at("markups")) {
    const std::string own = markup.value("coordinateSystem", "LPS");
    if (own != "LPS" && own != "RAS")
      fail_reading(path, "its coordinateSystem is '" + own + "', neither LPS nor RAS");
    if (markup.value("coordinateUnits", "mm") != "mm")
      fail_reading(path, "its coordinateUnits are not mm");
    if (!system.empty() && own != system)
      fail_reading(path, "its markups are of different coordinateSystems; save them apart");
    system = own;
  }
  return system;
}

}  // namespace

bool is_markups_name(const std::string& path) { return has_extension(path, ".json"); }

PointTable read_markups(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail_reading(path, "it cannot be opened");
  PointTable table;
  try {
    ordered_json file = ordered_json::parse(stream);
    table.frame = coordinate_system(path, file) == "RAS" ? "ras" : "lps";
    for_each_position(file, [&](const ordered_json& position) {
      Eigen::Vector3d p;
      for (int axis = 0; axis < 3; ++axis) p[axis] = position.at(std::size_t(axis)).get<double>();
      table.points.push_back(p);
    });
    table.markups = file.dump();
  } catch (const nlohmann::json::exception&) {
    fail_reading(path,
                 "it is no markups file of 3D Slicer (.mrk.json), whose controlPoints have each a "
                 "position of three numbers");
  }
  return table;
}

void write_markups(const std::string& path, const PointTable& table) {
  ordered_json file = ordered_json::parse(table.markups);
  std::size_t next = 0;
  for_each_position(file, [&](ordered_json& position) {
    const Eigen::Vector3d& p = table.points[next++];
    position = {p.x(), p.y(), p.z()};
  });
  for (ordered_json& markup : file["markups"]) markup.erase("measurements");
  std::ofstream stream(path);
  if (!stream) fail_writing(path, errno);
  stream << file.dump(4) << '\n';
  stream.close();
  if (!stream) fail_cut_short(path);
}

}  // namespace freeflow::apps
