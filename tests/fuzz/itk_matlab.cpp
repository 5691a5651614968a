// Transforms in ITK'\''s MATLAB files.
#include "support.h"

#include <freeflow/io/transforms/transform_formats.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const std::string path = fuzz::input_file("x.mat", bytes, count);
  const Geometry fixed{{3, 4, 2}};
  fuzz::reads([&] { fuzz::expect_sound(read_transform(path, fixed)); });
  fuzz::reads([&] { fuzz::expect_sound(read_transform_file(path, {}, {fixed, {}, {}})); });
  return 0;
}
