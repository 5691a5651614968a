// FreeSurfer'\''s morphs, compressed or not.
#include "support.h"

#include <freeflow/io/transforms/transform_formats.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const std::string path = fuzz::input_file("x.m3z", bytes, count);
  fuzz::reads([&] { fuzz::expect_sound(read_transform_file(path)); });
  return 0;
}
