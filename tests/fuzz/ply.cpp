// PLY files: the walk before VTK reads them and, where the build has VTK, what it does then.
#include "support.h"

#include <freeflow/io/mesh_file.h>
#include <freeflow/io/ply_check.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const std::string path = fuzz::input_file("x.ply", bytes, count);
  if (!fuzz::reads([&] { check_ply(path); }) || !has_meshes()) return 0;
  fuzz::reads([&] { read_mesh(path); });
  fuzz::reads([&] { MovableMesh(path).turn_faces(); });
  return 0;
}
