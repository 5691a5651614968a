// Fields and coefficients of FSL, NiftyReg, SPM, AFNI and MRtrix in NIfTI files.
#include "support.h"

#include <freeflow/io/transforms/transform_formats.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  const std::string path = fuzz::input_file("x.nii", bytes, count);
  TransformContext context;
  context.fixed = context.moving = Geometry{{5, 6, 7}};
  for (const TransformFormat format :
       {TransformFormat::itk, TransformFormat::fsl, TransformFormat::niftyreg, TransformFormat::spm,
        TransformFormat::afni, TransformFormat::mrtrix})
    fuzz::reads([&] { fuzz::expect_sound(read_transform_file(path, format, context)); });
  context.vectors = VectorMeaning::positions;
  fuzz::reads(
      [&] { fuzz::expect_sound(read_transform_file(path, TransformFormat::fsl, context)); });
  fuzz::reads([&] { fuzz::expect_sound(read_transform_file(path)); });
  return 0;
}
