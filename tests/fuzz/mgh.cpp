// FreeSurfer's images.
#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  fuzz::read_as_image(fuzz::input_file("x.mgh", bytes, count));
  return 0;
}
