// What most programs want, from files to files, in the fewest lines. run.cmake compares what it
// writes with what ffdreg and fluidreg write, byte for byte.
#include <freeflow/io/registration_files.h>
#include <freeflow/registration/register_images.h>

using namespace freeflow;

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  Context ctx(Device::parse("cpu"));
  const Volume<float> fixed = read_volume(ctx, argv[1]), moving = read_volume(ctx, argv[2]);
  RegistrationOptions options;
  if (argv[4] == std::string("ffd")) options.model = FfdOptions{};
  const RegistrationResult result = register_images(ctx, fixed, moving, options);
  write_transform(ctx, argv[3], result.affine, result.displacement);
}
