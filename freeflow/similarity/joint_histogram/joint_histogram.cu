// Picks the CUDA kernel of a scheme. A new scheme is one file and one line here.
#include <freeflow/similarity/joint_histogram/schemes.h>

namespace freeflow {

void count_joint(backend::Cuda cuda, HistogramScheme scheme, const HistogramShape& shape, const HistogramInput& input,
                 std::uint64_t* histogram) {
  switch (scheme) {
    case HistogramScheme::automatic:
    case HistogramScheme::shared_atomic: return joint_histogram_shared_atomic(cuda, shape, input, histogram);
  }
}

}  // namespace freeflow
