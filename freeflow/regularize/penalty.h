// Penalties on the coefficients of a free-form deformation. Each yields its value and adds its force, so that a pipeline
// sums similarity and penalties without knowing them.
#pragma once

#include <freeflow/core/reduce.h>
#include <freeflow/deform/control_point_grid.h>

namespace freeflow {

/// A lattice as the penalties see it: displacements in mm along the lattice's axes, and the distance of its nodes.
struct LatticeView {
  FieldView<const float> coefficients;
  Vec3f spacing_mm;
};

/// Device memory of both penalties below per node of the lattice.
inline constexpr std::size_t penalty_bytes_per_node = 4 * 18 + 4 * 9 + 8;

class Penalty {
 public:
  virtual ~Penalty() = default;
  /// Allocates what a lattice of this size needs. Once per level.
  virtual void prepare(Context& ctx, Extent lattice) = 0;
  /// Queues: *value (device memory) gets the penalty P; force gains -weight dP/dc. Neither allocates nor waits.
  virtual void add_force(Context& ctx, const LatticeView& lattice, float weight, FieldView<float> force, double* value) = 0;
};

/// Mean over the lattice's inner nodes of the squared second derivatives of u, mixed ones twice, in 1/mm^2 (Rueckert 1999,
/// eq. 4, with the integral taken at the nodes as NiftyReg does). Affine displacements cost nothing.
class BendingEnergy : public Penalty {
 public:
  void prepare(Context& ctx, Extent lattice) override;
  void add_force(Context& ctx, const LatticeView& lattice, float weight, FieldView<float> force, double* value) override;

 private:
  Buffer<float> derivatives_;
  ReduceWorkspace work_;
};

/// Mean over the lattice's inner nodes of (log det(I + grad u))^2: keeps the deformation from folding and from changing
/// volume. Below det = 0.05 the square is continued by its tangent, so that a folded start still has a way back.
class LogJacobianPenalty : public Penalty {
 public:
  void prepare(Context& ctx, Extent lattice) override;
  void add_force(Context& ctx, const LatticeView& lattice, float weight, FieldView<float> force, double* value) override;

 private:
  Buffer<float> cofactors_;
  Buffer<double> node_values_;
  ReduceWorkspace work_;
};

}  // namespace freeflow
