#include <freeflow/io/obj_file.h>

#include <cstdlib>
#include <fstream>

#include <freeflow/io/decimal_point.h>
#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace {

/// "7", "7/2/5" or "7//5" of which 7 is the vertex; negative: counted from the last so far.
std::vector<int> corners_of(const std::string& path, int line, const char* text, int vertices) {
  const auto fail = [&](const char* what) {
    fail_reading(path, "a face in line " + std::to_string(line) + what);
  };
  std::vector<int> corners;
  for (;;) {
    char* end = nullptr;
    const long number = std::strtol(text, &end, 10);
    if (end == text) break;
    const long corner = number < 0 ? vertices + number : number - 1;
    if (corner < 0 || corner > 2147483646) fail(" names a vertex that does not exist");
    corners.push_back(int(corner));
    text = end;
    while (*text && *text != ' ' && *text != '\t') ++text;
  }
  if (corners.size() < 3) fail(" has fewer than three vertices");
  return corners;
}

Eigen::Vector3d vertex_of(const std::string& path, int line, const char* text) {
  Eigen::Vector3d v;
  for (int axis = 0; axis < 3; ++axis) {
    char* end = nullptr;
    v[axis] = std::strtod(text, &end);
    if (end == text)
      fail_reading(path, "line " + std::to_string(line) + " is no vertex of three numbers");
    text = end;
  }
  return v;
}

}  // namespace

ObjMesh read_obj(const std::string& path) {
  const DecimalPoint numbers;
  size_of_readable_file(path);
  std::ifstream in(path);
  ObjMesh mesh;
  std::string text, more;
  for (int line = 1; std::getline(in, text); ++line) {
    if (!text.empty() && text.back() == '\r') text.pop_back();
    while (!text.empty() && text.back() == '\\' && std::getline(in, more)) {
      text.back() = ' ';
      if (!more.empty() && more.back() == '\r') more.pop_back();
      text += more;
      ++line;
    }
    const char* rest = text.c_str() + 2;
    if (text.starts_with("v ") || text.starts_with("v\t"))
      mesh.vertices.push_back(vertex_of(path, line, rest));
    else if (text.starts_with("f ") || text.starts_with("f\t"))
      mesh.faces.push_back(corners_of(path, line, rest, int(mesh.vertices.size())));
  }
  for (const std::vector<int>& face : mesh.faces)
    for (const int corner : face)
      if (std::size_t(corner) >= mesh.vertices.size())
        fail_reading(path, "a face names a point that is not among its " +
                               std::to_string(mesh.vertices.size()));
  return mesh;
}

}  // namespace freeflow
