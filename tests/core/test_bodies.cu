// The CUDA side of the tests' bodies.
#include "core/test_bodies.h"

#include <freeflow/core/for_each_voxel.cuh>
#include <freeflow/core/reduce.cuh>

namespace freeflow {

template void for_each_voxel(backend::Cuda, Extent, const test::CountVisits&);
template void for_each_voxel(backend::Cuda, Extent, const test::Logarithm&);
template void for_each_voxel(backend::Cuda, Extent, const test::Quotients&);
template void reduce(backend::Cuda, std::size_t, int, const test::SumAndSquares&, double*, double*);
template void reduce(backend::Cuda, std::size_t, int, const test::SumsOfPowers&, double*, double*);

}  // namespace freeflow
