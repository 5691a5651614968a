// Matrices in the text files of FSL, NiftyReg, AFNI, FreeSurfer and MRtrix, and elastix'
// parameters.
#include "support.h"

#include <freeflow/io/transforms/transform_formats.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const std::string path = fuzz::input_file("x.txt", bytes, count);
  TransformContext context;
  context.fixed = context.moving = Geometry{{5, 6, 7}};
  for (const TransformFormat format :
       {TransformFormat::fsl, TransformFormat::niftyreg, TransformFormat::afni,
        TransformFormat::freesurfer, TransformFormat::mrtrix, TransformFormat::elastix})
    fuzz::reads([&] { fuzz::expect_sound(read_transform_file(path, format, context)); });
  // With the grid of an image: elastix' files name one of their own, of any size.
  fuzz::reads([&] { fuzz::expect_sound(read_transform_file(path, {}, context)); });
  return 0;
}
