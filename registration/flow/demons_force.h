// Private: the update of symmetric demons (Vercauteren 2009, "Diffeomorphic demons: efficient
// non-parametric image registration"): per voxel
//   d J / (|J|^2 + d^2 / (2 step)^2),   d = fixed(x) - warped(x), J = (grad fixed + grad warped) /
//                                       2,
// the Gauss-Newton step of efficient second-order minimisation, at most `step` long; Thirion's
// (1998, "Image matching as a diffusion process") has J = grad fixed. For images of one modality
// and scale, whatever that scale is. Lengths count in smallest voxel sides. Several channels take
// one step together: numerators and denominators are summed with weights, each channel's
// intensities in units of their range.
#pragma once

#include <span>
#include <vector>

#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

/// How a channel counts beside others.
struct DemonsChannel {
  float weight = 1;
  float scale = 1;  ///< 1 / the range of its intensities

  DemonsChannel(double weight, const IntensityRange& fixed, const IntensityRange& moving);
};

class DemonsForce {
 public:
  /// Allocates one image, for several channels two. The images must outlive it; `scales` are of no
  /// account for a single channel.
  DemonsForce(Context& ctx, std::span<const ImagePair> images, std::vector<DemonsChannel> scales,
              bool of_thirion = false);

  /// Queues the update at displacement u; 0 where a voxel or one of its neighbours has no
  /// counterpart. The components are divided by (smallest side / side) once, as a force per voxel
  /// is (flow_body.h). Neither allocates nor waits.
  void evaluate(Context& ctx, FieldView<const float> u, double step, FieldView<float> update);

 private:
  std::vector<ImagePair> images_;
  std::vector<DemonsChannel> scales_;
  Volume<float> warped_, divisor_;
  bool of_thirion_;
};

}  // namespace freeflow
