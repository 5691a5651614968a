// The inputs of a registration program: images, masks and the start, read and checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <apps/options.h>
#include <freeflow/io/image_file.h>

namespace freeflow::apps {

struct Inputs {
  HostImage fixed, moving;
  std::optional<HostImage> fixed_mask, moving_mask;  ///< on the grids of their images
  std::vector<std::string> warnings;
};

/// Reads all files that the options name, the two images at the same time. Throws IoError, and InvalidArgument for an empty mask.
Inputs read_inputs(const CommonOptions& options);

/// The same on the device of a context.
struct DeviceInputs {
  DeviceInputs(Context& ctx, const Inputs& inputs);
  Masks masks() const;

  Volume<float> fixed, moving, fixed_mask, moving_mask;
};

/// The world transform to start from: "identity", "center" (the grids' middles meet), "moments" (the centres of mass of the
/// intensities above their minimum meet, inside the masks) or an ITK affine file.
Eigen::Affine3d initial_transform(const std::string& init, const Inputs& inputs);

}  // namespace freeflow::apps
