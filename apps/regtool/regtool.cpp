// regtool: what a registration's transform is used for.
#include <cstdio>
#include <cstring>
#include <string>

#include <apps/program.h>
#include <apps/regtool/commands.h>
#include <freeflow/core/error.h>

using namespace freeflow;
using namespace freeflow::apps;

namespace {

struct Command {
  const char* name;
  int (*run)(int, const char* const*);
  const char* about;
};

constexpr Command commands[] = {
    {"apply", regtool_apply, "images and labels through transforms, onto a grid"},
    {"points", regtool_points, "points or meshes between the fixed and the moving space"},
    {"compose", regtool_compose, "a chain of transforms as one displacement field"},
    {"invert", regtool_invert, "the inverse of an affine or a field, with its residual"},
    {"jacobian", regtool_jacobian, "how transforms change volumes"},
    {"convert", regtool_convert,
     "transform files of FSL, NiftyReg, SPM, AFNI, FreeSurfer, MRtrix, elastix"},
    {"measure", regtool_measure, "how good a registration is: labels, landmarks, folds"},
    {"report", regtool_report, "pages to judge a registration or a whole cohort by"},
    {"info", regtool_info, "what an image or a transform file holds"},
};

void print_help() {
  std::printf(
      "regtool: uses the transforms that ffdreg, fluidreg, linreg and others write.\n\n"
      "  regtool COMMAND ...     regtool COMMAND --help explains each with an example\n\n");
  for (const Command& c : commands) std::printf("  %-10s %s\n", c.name, c.about);
  std::printf(
      "\nExample: carry labels onto the fixed image's grid after ffdreg ... -o out_\n"
      "  regtool apply -i moving_labels.nii.gz -r fixed.nii.gz --interpolation labels \\\n"
      "    -o labels.nii.gz -t out_1Warp.nii.gz -t out_0GenericAffine.mat\n");
  std::printf("\nExit status: 0 done, 1 the work failed, 2 the call or an input is unusable.\n");
}

int run(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "--help";
  if (word == "--help" || word == "-h") {
    print_help();
    return done;
  }
  if (word == "--version") {
    std::printf("regtool (FreeFlow) " FREEFLOW_VERSION "\n");
    return done;
  }
  for (const Command& c : commands)
    if (word == c.name) return c.run(argc - 1, argv + 1);
  throw InvalidArgument("'" + word + "' is no command of regtool; regtool --help lists them");
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("regtool", [&] { return run(argc, argv); });
}
