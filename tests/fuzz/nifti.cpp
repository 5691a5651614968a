// NIfTI-1 images, compressed where the bytes begin as gzip does.
#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const bool gzip = count > 1 && bytes[0] == 0x1f && bytes[1] == 0x8b;
  fuzz::read_as_image(fuzz::input_file(gzip ? "x.nii.gz" : "x.nii", bytes, count));
  return 0;
}
