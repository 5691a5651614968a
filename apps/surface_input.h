// What nlmdenoise reads: a volume or a mesh, as the signed distance that the denoising starts from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <freeflow/core/volume.h>

namespace freeflow::apps {

struct SurfaceInputOptions {
  std::string input, kind = "auto";
  std::optional<int> label;
  std::optional<double> iso, resolution_mm;
  int margin = 6;  ///< voxels around a mesh
};

struct SurfaceInput {
  Volume<float> distance;  ///< signed, mm, negative inside
  std::string kind;        ///< "sdf", "labels", "image" or "mesh"
  std::size_t nonfinite_voxels = 0;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  ///< what was decided for the user
};

/// Checks the words and that they fit together. Throws InvalidArgument.
void validate(const SurfaceInputOptions& options);

/// Reads the file and builds the distance on the device of ctx. Throws IoError; InvalidArgument for
/// a volume of one value, several labels and no --label, a grey image and no --iso, an open mesh.
SurfaceInput read_surface(Context& ctx, const SurfaceInputOptions& options);

}  // namespace freeflow::apps
