// Local normalised cross-correlation (the squared one; Avants 2008, "Symmetric diffeomorphic image
// registration with cross-correlation"): robust to intensities that differ by a smooth field, for
// images of one modality.
//
// Over the window about voxel x, w_y the window's weights on the voxels y where both images have a
// value:
//   A = cov(fixed, warped), B = var(fixed), C = var(warped)       LNCC(x) = A^2 / ((B + e) (C + e))
// The cost is -(mean of LNCC over the overlapping voxels x), in [-1, 0]; the force is the exact
// derivative of that with the overlap held fixed. e = epsilon^2 keeps flat windows at 0 and the
// force bounded. Intensities are measured in the robust range of their image, shifted to [-0.5,
// 0.5] and cut at -2 and 2, so that one hot voxel cannot drown its window: epsilon is a standard
// deviation in parts of that range.
// Cost: the window sums do not depend on the radius (window_sum.h). At the grid's border the window
// is what lies inside.
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/similarity/intensity_range.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

enum class LnccWindow {
  box,      ///< equal weights in (2 radius + 1)^3 voxels
  gaussian  ///< three such boxes in a row, near a Gaussian of sigma = sqrt(radius (radius + 1))
            ///< voxels, reaching 3 radius; two to three times the time
};

struct LnccOptions {
  LnccWindow window = LnccWindow::box;
  int radius = 2;         ///< voxels of the level, 1 to 64
  double epsilon = 1e-2;  ///< standard deviation below which a window counts as flat, in parts of
                          ///< the intensity range; 1e-4 to 1
};

class Lncc : public SimilarityMeasure {
 public:
  /// Throws InvalidArgument when an option is out of range.
  explicit Lncc(const LnccOptions& options = {});

  void set_ranges(const IntensityRange& fixed, const IntensityRange& moving) override;
  void prepare(Context& ctx, const ImagePair& images) override;
  void set_map(const PointMap& fixed_to_moving) override { map_ = fixed_to_moving; }
  void evaluate(Context& ctx, FieldView<const float> u, FieldView<float> force,
                double* cost) override;

 private:
  int further_boxes() const { return options_.window == LnccWindow::gaussian ? 2 : 0; }
  void sum_value(Context& ctx, bool with_coefficients, double* cost);
  void sum_force(Context& ctx, FieldView<const float> u, FieldView<float> force);

  LnccOptions options_;
  IntensityRange fixed_range_, moving_range_;
  PointMap map_;
  Volume<float> fixed_, moving_, warped_;  // intensities in parts of their range
  Buffer<float> moments_, coefficients_;   // planes; each also serves the other's further sums
  Buffer<double> tally_, sums_;
  ReduceWorkspace work_;
};

}  // namespace freeflow
