// The symmetric Kullback-Leibler distance between a deformation's Jacobian and the identity's, the
// unbiased regulariser (Yanovsky 2007; Lee 2012, eq. 10):
//   sKL(u) = mean over the voxels of (J - 1) log J,   J = det(I + grad u)
// Growing to twice the volume costs what shrinking to half does, so that noise alone does not pull
// the log-Jacobian to one side. J is jacobian_determinant's (field_operations.h), which does not
// depend on the voxel's sides.
// The force is the exact -d sKL / d u(x) of that sum, u in voxels, as the measures give theirs:
// minus the divergence of eq. 11,
//   force_c(x) = sum over axes a of the central difference of L' dJ/d(d_a u_c),   L' = 1 + log J -
//     1 / J,
// with the transposed one-sided differences at the border.
// Where J <= 0 there is no logarithm: the force is NaN there and so is the energy; the force also
// where J lies outside [2^-60, 2^60). Nothing is clamped; a pipeline must not take such a step.
// Cost of the force on a GPU: u is read and the force written once, 24 bytes a voxel (`reuse`);
// `recompute` reads the same and computes more. Same bits on every device, from every kernel and
// block shape.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <freeflow/core/reduce.h>
#include <freeflow/core/views.h>

namespace freeflow {

/// How a GPU computes the force (Lee 2012, 3.1.1). The CPU has one way.
enum class KlKernel {
  recompute,  ///< the field in shared memory; every voxel computes its six neighbours' derivatives
              ///< and Jacobians itself
  reuse  ///< derivatives and Jacobians are computed once and shared through a window that slides
         ///< along z
};
std::optional<KlKernel> parse_kl_kernel(std::string_view name);

/// The threads of a block along x and y; it marches along z.
struct BlockShape {
  int x = 32, y = 16;
  friend bool operator==(BlockShape, BlockShape) = default;
};

class SymmetricKl {
 public:
  /// Allocates reduction scratch, and on the CPU the blocks' windows. Throws InvalidArgument for a
  /// shape that is not in kl_block_shapes().
  SymmetricKl(Context& ctx, Extent extent, KlKernel kernel = KlKernel::reuse,
              BlockShape shape = {});

  /// force = weight * -d sKL / du, or adds it. Neither allocates nor waits.
  void force(Context& ctx, FieldView<const float> u, double weight, FieldView<float> force) const;
  void add_force(Context& ctx, FieldView<const float> u, double weight,
                 FieldView<float> force) const;

  /// *energy, in device memory, gets sKL(u), NaN where a determinant is below `smallest_jacobian`,
  /// which must be positive. Neither allocates nor waits.
  void energy(Context& ctx, FieldView<const float> u, double smallest_jacobian,
              double* energy) const;

 private:
  void run(Context& ctx, FieldView<const float> u, double weight, FieldView<float> force,
           bool add) const;

  Extent extent_;
  KlKernel kernel_;
  BlockShape shape_;
  ReduceWorkspace work_;
  Buffer<double> sum_;
  Buffer<float> windows_;  // of the CPU's blocks
};

/// The block shapes that are built.
std::vector<BlockShape> kl_block_shapes();

/// What a kernel takes of the current GPU, for the benchmark (Lee 2012, table 1).
struct KlKernelResources {
  int registers = 0, blocks_per_multiprocessor = 0;
  std::size_t shared_bytes = 0, local_bytes = 0;
  double occupancy = 0;  ///< share of the threads that a multiprocessor holds
};
/// All 0 where the context is no GPU.
KlKernelResources kl_kernel_resources(const Context& ctx, KlKernel kernel, BlockShape shape);

}  // namespace freeflow
