// Private: the two backends of joint_histogram(), and the CUDA entry of every scheme, one file each.
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/similarity/joint_histogram/joint_histogram.h>

namespace freeflow {

/// The schemes differ in how a GPU counts; the CPU takes every name and has one way (cpu.cpp).
void count_joint(backend::Cpu, HistogramScheme, const HistogramShape&, const HistogramInput&, std::uint64_t* histogram);
/// Picks the scheme (joint_histogram.cu).
void count_joint(backend::Cuda, HistogramScheme, const HistogramShape&, const HistogramInput&, std::uint64_t* histogram);

void joint_histogram_shared_atomic(backend::Cuda, const HistogramShape&, const HistogramInput&, std::uint64_t* histogram);

}  // namespace freeflow
