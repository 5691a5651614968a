#include <apps/regtool/markups.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/write_error.h>

using nlohmann::ordered_json;

namespace freeflow::apps {

namespace {

constexpr const char* no_markups =
    "it is no markups file of 3D Slicer (.mrk.json), whose controlPoints have each a position of "
    "three numbers";

/// Calls f(position) for the control points.
template <class F>
void for_each_position(ordered_json& file, F&& f) {
  for (ordered_json& markup : file.at("markups"))
    for (ordered_json& control : markup.at("controlPoints")) f(control.at("position"));
}

/// Slicer writes "mm", or a code of which that is the first word.
bool is_mm(const ordered_json& units) {
  return units == "mm" || (units.is_array() && !units.empty() && units[0] == "mm");
}

/// Boxes and planes say a second time where they are.
bool is_of_points(const std::string& type) {
  constexpr std::array known{"Fiducial", "Line", "Angle", "Curve", "ClosedCurve"};
  return std::ranges::find(known, type) != known.end();
}

/// Points are paired by their places in a file, so that none may be left out.
void require_placed(const std::string& path, const ordered_json& markup) {
  for (const ordered_json& control : markup.at("controlPoints"))
    if (control.value("positionStatus", "defined") != "defined")
      fail_reading(path, "its point '" + control.value("label", std::string()) +
                             "' has no position; place or delete it");
}

/// One for all markups of the file, lps or ras.
std::string frame_of(const std::string& path, const ordered_json& file) {
  std::string frame;
  for (const ordered_json& markup : file.at("markups")) {
    const std::string system = markup.value("coordinateSystem", "LPS"),
                      type = markup.value("type", "Fiducial");
    if (system != "LPS" && system != "RAS")
      fail_reading(path, "its CoordinateSystem is '" + system + "', neither LPS nor RAS");
    if (!is_of_points(type))
      fail_reading(path, "its markup of type " + type + " is no list of points");
    if (markup.contains("coordinateUnits") && !is_mm(markup["coordinateUnits"]))
      fail_reading(path, "its coordinateUnits are not mm");
    require_placed(path, markup);
    const std::string own = system == "RAS" ? "ras" : "lps";
    if (!frame.empty() && own != frame)
      fail_reading(path, "its markups are of different coordinateSystems; save them apart");
    frame = own;
  }
  return frame;
}

/// What writes such a file again calls itself for each level.
bool is_shallow(int depth, ordered_json::parse_event_t /*event*/, ordered_json& /*parsed*/) {
  constexpr int deepest = 64;
  if (depth > deepest) throw std::length_error("nested too deep");
  return true;
}

}  // namespace

bool is_markups_name(const std::string& path) { return has_extension(path, ".json"); }

PointTable read_markups(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail_reading(path, "it cannot be opened");
  PointTable table;
  try {
    ordered_json file = ordered_json::parse(stream, is_shallow);
    table.frame = frame_of(path, file);
    for_each_position(file, [&](const ordered_json& position) {
      Eigen::Vector3d p;
      for (int axis = 0; axis < 3; ++axis) p[axis] = position.at(std::size_t(axis)).get<double>();
      table.points.push_back(p);
    });
    table.markups = file.dump();
  } catch (const nlohmann::json::exception&) {
    fail_reading(path, no_markups);
  } catch (const std::length_error&) {
    fail_reading(path, no_markups);
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
