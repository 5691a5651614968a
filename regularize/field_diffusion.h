// Smoothing of a displacement that spares its jumps: diffusion whose conductance falls where the
// field is steep (Perona and Malik 1990, "Scale-space and edge detection using anisotropic
// diffusion"; of all components together), the regulariser of the flow:
//   u <- u + t div(g grad u),   g = 1 / (1 + |grad u|^2 / e^2),
// `passes` times with the g of the field as it came, all in voxels of each axis. A Gaussian drags
// an organ along with the neighbour that it slides by; here little flows across a slope of more
// than e = 0.5 voxel per voxel. (Slopes in mm per mm would let the component across thick slices,
// which the images tell worst, decide alone.) Where the field is flat three passes of t = 1/6
// smooth like a Gaussian of one voxel. Along an axis of longer voxels t is divided by the square
// root of how many times as long they are: between smoothing as far in voxels as along the others
// and in mm. Nothing flows across the border, so the mean stays; a constant stays to the bit, and
// -u becomes the negative of what u becomes. Cost: a pass over the field for g, which takes 4 bytes
// a voxel, and one per step.
#pragma once

#include <freeflow/core/buffer.h>
#include <freeflow/deform/displacement_field.h>

namespace freeflow {

class FieldDiffusion {
 public:
  static constexpr int passes = 3;      ///< odd: the last one ends in `out`
  static constexpr double slope = 0.5;  ///< e
  /// t of a pass along the shortest side of a voxel: the most that cannot overshoot.
  static constexpr double time = 1.0 / 6;

  /// For fields in voxels of this grid.
  FieldDiffusion(Context& ctx, const Geometry& grid);

  /// Smooths `in` into `out`, which must not overlap; `in` is used up. `share`: of `time`, in (0,
  /// 1]. Neither allocates nor waits.
  void apply(Context& ctx, FieldView<float> in, FieldView<float> out, double share = 1) const;

 private:
  Geometry grid_;
  Buffer<float> conductance_;
};

}  // namespace freeflow
