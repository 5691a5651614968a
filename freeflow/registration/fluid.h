// Private: the viscous fluid of Lee 2012 (2.2; Christensen 1996, D'Agostino 2003), the model `fluid` of flow.h. One iteration:
//   1. the force f = -dE/du of the measure and of the weighted symmetric Kullback-Leibler term, at the whole displacement;
//   2. the velocity v from f by a Gaussian or the Navier-Cauchy equation (velocity.h);
//   3. an Euler step u <- u + dt (v + grad u v), dt such that the fastest voxel moves by `step` smallest voxel sides;
//   4. the moving image is sampled anew, through the whole displacement.
// Lee maps x to x - u(x), this library to x + u(x): hence the sign of grad u v.
// Where the step would bring a determinant of I + grad u below 0.5 the grid is laid anew first: u is composed into the displacement `base`
// gained so far, w(x) = u(x) + base(x + u(x)), and starts from 0, and if that is not enough the step is halved. So u never folds, and w
// only where sampling a composition does (unfold.h). With the Kullback-Leibler term no determinant of the whole displacement may fall below
// 0.05, where its logarithm would run away: a step that does is taken back and halved. Nothing is clamped. An iteration waits for the
// device once, and once more for every regridding.
#pragma once

#include <freeflow/registration/flow.h>

namespace freeflow {

/// As register_flow, for options whose model is `fluid` and that have been validated.
RegistrationResult register_fluid(Context& ctx, const Volume<float>& fixed, const Volume<float>& moving, const FlowOptions& options,
                                  const Masks& masks, Observer* observer);

/// Device memory of its fields and terms at most, in bytes, but for the measure and the filters.
std::size_t fluid_bytes(const Context& ctx, Extent extent, const FlowOptions& options);

}  // namespace freeflow
