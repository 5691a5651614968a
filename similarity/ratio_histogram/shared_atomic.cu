// One histogram per block in shared memory, native 32-bit atomics, then 64-bit atomics on the
// result (Li's scheme 3a).
#include <freeflow/similarity/ratio_histogram/shared.cuh>

namespace freeflow {

void ratio_shared_atomic(backend::Cuda cuda, const RatioPlan& plan, const RatioInput& input,
                         std::uint64_t* sums) {
  with_ratio_voxel(plan.shape, input, [&](const auto& voxel) {
    ratio::launch_shared(cuda, plan, ratio::Job(voxel, input, sums), input.candidates, false,
                         nullptr);
  });
}

}  // namespace freeflow
