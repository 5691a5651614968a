// The yardstick of the CPU: NMI and its derivative per voxel as one writes them down, an OpenMP
// loop over the voxels with a private histogram per thread, compiled with -O3 -march=native. Cubic
// Parzen window on the moving axis, 64 bins.
#pragma once

namespace freeflow::bench {

/// Returns -NMI; force gets three planes. Images and planes are x fastest; no masks.
double straightforward_nmi(const float* fixed, const float* moving, const float* u, int nx, int ny,
                           int nz, float low, float high, float* force);

}  // namespace freeflow::bench
