// The command line of atlas.
#pragma once

#include <boost/program_options.hpp>

#include <string>
#include <vector>

#include <freeflow/atlas/atlas.h>

namespace freeflow::apps {

struct AtlasCommand {
  std::vector<std::string> images, masks, labels;
  std::string output, config, start;
  std::string model = "flow", similarity = "auto", iterations, linear = "affine",
              linear_search = "auto", rounds = "2x4", statistic = "mean", sharpen = "none",
              interpolation = "linear", device = "auto", save;
  int levels = 0, threads = 0;  // levels 0: the model's own
  double shape_step = 1, enough = AtlasOptions{}.enough_voxels, trim = AtlasOptions{}.trim;
  bool symmetric = false, keep_going = false, dry_run = false, transforms = false,
       jacobians = false, probabilities = false, verbose = false, quiet = false;
};

/// False when the help was asked for. Throws InvalidArgument.
bool parse_atlas_command(int argc, const char* const* argv, AtlasCommand& command,
                         boost::program_options::variables_map& found);

/// Without the start image, which is read later. Throws InvalidArgument with the option.
AtlasOptions atlas_options(const AtlasCommand& command);

/// Where what is needed to go on is kept.
inline std::string state_folder(const AtlasCommand& command) { return command.output + "state"; }

/// What the library does not see of what results depend on.
std::string made_by(const AtlasCommand& command);

}  // namespace freeflow::apps
