// One histogram per warp in shared memory, merged in the block, then 64-bit atomics on the result
// (Li's scheme 4).
#include <freeflow/similarity/ratio_histogram/shared.cuh>

namespace freeflow {

void ratio_shared_warp(backend::Cuda cuda, const RatioPlan& plan, const RatioInput& input,
                       std::uint64_t* sums) {
  with_ratio_voxel(plan.shape, input, [&](const auto& voxel) {
    ratio::launch_shared(cuda, plan, ratio::Job(voxel, input, sums), input.candidates, true,
                         nullptr);
  });
}

}  // namespace freeflow
