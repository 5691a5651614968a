// Private: the update of symmetric demons (Vercauteren 2009, "Diffeomorphic demons: efficient
// non-parametric image registration"): per voxel
//   d J / (|J|^2 + d^2 / (2 step)^2),   d = fixed(x) - warped(x), J = (grad fixed + grad warped) /
//                                       2,
// the Gauss-Newton step of efficient second-order minimisation, at most `step` long; Thirion's
// (1998, "Image matching as a diffusion process") has J = grad fixed. For images of one modality
// and scale, whatever that scale is. Lengths count in smallest voxel sides.
#pragma once

#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

class DemonsForce {
 public:
  /// Allocates one image. The pair must outlive it.
  DemonsForce(Context& ctx, const ImagePair& images, bool of_thirion = false);

  /// Queues the update at displacement u; 0 where a voxel or one of its neighbours has no
  /// counterpart. The components are divided by (smallest side / side) once, as a force per voxel
  /// is (flow_body.h). Neither allocates nor waits.
  void evaluate(Context& ctx, FieldView<const float> u, double step, FieldView<float> update);

 private:
  const Volume<float>&fixed_, &moving_;
  PointMap map_;
  Volume<float> warped_;
  bool of_thirion_;
};

}  // namespace freeflow
