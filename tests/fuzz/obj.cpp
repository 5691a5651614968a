// OBJ files.
#include "support.h"

#include <freeflow/io/obj_file.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const std::string path = fuzz::input_file("x.obj", bytes, count);
  fuzz::reads([&] {
    const ObjMesh mesh = read_obj(path);
    for (const std::vector<int>& face : mesh.faces)
      for (const int corner : face)
        fuzz::expect(corner >= 0 && std::size_t(corner) < mesh.vertices.size(),
                     "corners are vertices");
  });
  return 0;
}
