#include <fstream>
#include <iterator>

#include <freeflow/io/file_checks.h>
#include <freeflow/io/mesh_space.h>
#include <freeflow/io/write_error.h>

namespace freeflow {

std::string mesh_space(const std::string& path) {
  std::string head(1024, '\0');  // titles have at most 256 characters, an .stl's header 80
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), std::streamsize(head.size()));
  head.resize(std::size_t(file.gcount()));
  if (head.find("SPACE=RAS") != std::string::npos) return "ras";
  return head.find("SPACE=LPS") != std::string::npos ? "lps" : "";
}

std::string mesh_space_remark(const std::string& space) {
  if (space.empty()) return "";
  return space == "ras" ? "SPACE=RAS" : "SPACE=LPS";
}

void put_before_obj(const std::string& path, const std::string& remark) {
  std::ifstream file(path, std::ios::binary);
  const std::string lines{std::istreambuf_iterator<char>(file), {}};
  file.close();
  std::ofstream again(path, std::ios::binary);
  again << "# " << remark << '\n' << lines;
  again.close();
  if (!again) fail_cut_short(path);
}

}  // namespace freeflow
