// Private: the two images of a discrete start as it compares them, channel by channel: on one
// coarse grid that lies with the fixed image, the moving one through the affine.
#pragma once

#include <Eigen/Geometry>

#include <freeflow/registration/levels/prepared_image.h>
#include <freeflow/registration/search/displacement_search.h>

namespace freeflow {

class WorkingImages {
 public:
  /// The grid has about `voxels` of the fixed image's own voxels merged along a side of the cube of
  /// its volume, so that they follow the object's size; `reach` of a side lies beyond the fixed
  /// image, and room for a cell, so that what moves in from there is seen. Voxels without a value
  /// and masked ones describe nothing. weights: of the channels.
  WorkingImages(Context& ctx, PreparedImage& fixed, PreparedImage& moving,
                const Eigen::Affine3d& affine, double voxels, double reach,
                const std::vector<double>& weights);

  SearchImages images() const;
  const SearchWindow& window() const { return window_; }
  /// Cells of `width` voxels that cover the fixed image.
  Geometry cells(int width) const;
  /// A voxel's sides.
  const Eigen::Vector3d& voxel_mm() const { return core_.spacing; }
  /// How large the object is: the cube root of the fixed image's volume, no side less than half of
  /// the longest.
  double object_mm() const { return object_mm_; }

 private:
  Buffer<MindRecord> describe(Context& ctx, PreparedImage& image, const PreparedImage::Steps& steps,
                              const Eigen::Affine3d& world, const char* what) const;

  Geometry core_, grid_;
  double object_mm_;
  int margin_[3];
  SearchWindow window_;
  struct Channel {
    Buffer<MindRecord> fixed, moving;
    double weight;
  };
  std::vector<Channel> channels_;
};

}  // namespace freeflow
