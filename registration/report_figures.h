// Figures of a finished registration that its report states and the registration did not need: what
// the programs write in report.json.
#pragma once

#include <optional>
#include <vector>

#include <freeflow/registration/registration_result.h>

namespace freeflow {

/// Normalised mutual information, 1 (nothing in common) to 2, of the moving image as it lies, after
/// the affine, and in the end, with the fixed one; nothing where they do not overlap or one is
/// constant. For any modalities, and comparable between measures, programs and subjects.
struct Similarities {
  std::optional<double> before, affine, after;
};

/// Lengths of a displacement over its grid, mm.
struct DisplacementRange {
  double mean_mm = 0, max_mm = 0;
  double p99_mm = 0;  ///< that 99 % do not exceed, of some 100,000 voxels
};

/// What counts (above 0.5) on the grids of the two images, in host memory; null: all of it.
struct MasksOnHost {
  const std::vector<float>*fixed = nullptr, *moving = nullptr;
};

/// Of every voxel of the fixed grid, or of fewer, some 400,000, where it has more. The displacement
/// may be null. Waits.
Similarities similarities(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving,
                          const Eigen::Affine3d& affine, const DisplacementField* displacement,
                          const MasksOnHost& masks);

/// The same bits for any number of threads. Waits.
DisplacementRange displacement_range(Context& ctx, const DisplacementField& u);

}  // namespace freeflow
