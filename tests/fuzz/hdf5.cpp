// ITK's .h5 files, of which ours is what follows libhdf5: any names and numbers in a file that is
// whole. Damaged files end another process (hdf5_process.h); header_mutants.py makes those.
#include "support.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <freeflow/io/hdf5_transform.h>
#include <freeflow/io/transforms/transform_formats.h>

namespace {

std::string type_of(FuzzedDataProvider& input) {
  const char* const known[] = {"AffineTransform_double_3_3",
                               "MatrixOffsetTransformBase_double_3_3",
                               "Euler3DTransform_double_3_3",
                               "VersorRigid3DTransform_float_3_3",
                               "Similarity3DTransform_double_3_3",
                               "ScaleVersor3DTransform_double_3_3",
                               "ScaleSkewVersor3DTransform_double_3_3",
                               "ScaleTransform_double_3_3",
                               "QuaternionRigidTransform_double_3_3",
                               "TranslationTransform_double_3_3",
                               "CenteredAffineTransform_double_3_3",
                               "CenteredEuler3DTransform_double_3_3",
                               "DisplacementFieldTransform_double_3_3",
                               "BSplineTransform_double_3_3",
                               "CompositeTransform_double_3_3",
                               "AffineTransform_double_2_2"};
  return input.ConsumeProbability<float>() < 0.9f ? input.PickValueInArray(known)
                                                  : input.ConsumeRandomLengthString(40);
}

/// Mostly of a size that some transform has; any bits of a double, or a small number.
std::vector<double> numbers(FuzzedDataProvider& input) {
  const std::size_t sizes[] = {0, 1, 3, 4, 6, 7, 9, 12, 15, 18, 24, 81, 192, 240};
  std::vector<double> values(input.PickValueInArray(sizes));
  for (double& value : values)
    value = input.ConsumeBool() ? input.ConsumeIntegralInRange<int>(-2, 4)
                                : input.ConsumeFloatingPoint<double>();
  return values;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace freeflow;
  FuzzedDataProvider input(bytes, count);
  std::vector<StoredTransform> transforms(input.ConsumeIntegralInRange<std::size_t>(0, 4));
  for (StoredTransform& one : transforms) {
    one.type = type_of(input);
    one.fixed = numbers(input);
    one.parameters = numbers(input);
  }
  const std::string path = fuzz::input_file("x.h5", bytes, 0);
  write_stored_transforms(path, transforms);
  const Geometry fixed{{3, 4, 2}};
  fuzz::reads([&] { fuzz::expect_sound(read_transform(path, fixed)); });
  fuzz::reads([&] { fuzz::expect_sound(read_transform_file(path, {}, {fixed, {}, {}})); });
  return 0;
}
