// Private: the two backends of ratio_sums(), and the CUDA entry of every scheme, one file each.
#pragma once

#include <freeflow/core/dispatch.h>
#include <freeflow/similarity/ratio_histogram/ratio_histogram.h>

namespace freeflow {

/// The schemes differ in how a GPU counts; the CPU takes every name and has one way (cpu.cpp). Adds
/// to `sums`.
void count_ratio(backend::Cpu, const RatioPlan&, const RatioInput&, std::uint64_t* sums);
/// Picks the scheme (cuda.cu).
void count_ratio(backend::Cuda, const RatioPlan&, const RatioInput&, std::uint64_t* sums);

void ratio_statistics(backend::Cpu, const RatioShape&, const std::uint64_t* sums, int candidates,
                      RatioStatistics*);
void ratio_statistics(backend::Cuda, const RatioShape&, const std::uint64_t* sums, int candidates,
                      RatioStatistics*);
void finish_ratio(backend::Cpu, const RatioShape&, std::uint64_t* sums, const RatioOutputs&);
void finish_ratio(backend::Cuda, const RatioShape&, std::uint64_t* sums, const RatioOutputs&);

/// Fills in a plan's launch sizes and scratch memory for the CUDA scheme; the CPU needs none.
inline void prepare_ratio(Context&, backend::Cpu, RatioPlan&, const RatioInput&) {}
void prepare_ratio(Context&, backend::Cuda, RatioPlan&, const RatioInput&);
/// The presort of conflict_free, and the shared memory of its blocks.
void presort_ratio(Context&, backend::Cuda, RatioPlan&, const RatioInput&);
std::size_t conflict_free_shared_bytes(const RatioPlan&);

void ratio_global_atomic(backend::Cuda, const RatioPlan&, const RatioInput&, std::uint64_t* sums);
void ratio_global_merge(backend::Cuda, const RatioPlan&, const RatioInput&, std::uint64_t* sums);
void ratio_shared_atomic(backend::Cuda, const RatioPlan&, const RatioInput&, std::uint64_t* sums);
void ratio_shared_merge(backend::Cuda, const RatioPlan&, const RatioInput&, std::uint64_t* sums);
void ratio_shared_warp(backend::Cuda, const RatioPlan&, const RatioInput&, std::uint64_t* sums);
void ratio_conflict_free(backend::Cuda, const RatioPlan&, const RatioInput&, std::uint64_t* sums);

}  // namespace freeflow
