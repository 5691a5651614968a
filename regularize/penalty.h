// Penalties on a grid of displacements: the coefficients of a free-form deformation, or the voxels
// of a flow's field. Each yields its value and adds its force, so that a pipeline sums similarity
// and penalties without knowing them. A penalty defined outside the library is a class derived from
// Penalty, given to a pipeline as a PenaltyTerm.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <freeflow/core/reduce.h>
#include <freeflow/deform/control_point_grid.h>

namespace freeflow {

/// A lattice as the penalties see it: displacements along its axes, and the distance of its nodes
/// in the same units. Of a free-form deformation: spline coefficients in mm. Of a flow:
/// displacements in voxels, at nodes 1 apart.
struct LatticeView {
  FieldView<const float> coefficients;
  Vec3f spacing;
};

class Penalty {
 public:
  virtual ~Penalty() = default;
  /// Allocates what a lattice of this size needs. Once per level, and in a rehearsal
  /// (Context::rehearsal).
  virtual void prepare(Context& ctx, Extent lattice) = 0;
  /// Queues: *value (device memory) gets the penalty P; force gains -weight dP/dc. Neither
  /// allocates nor waits.
  virtual void add_force(Context& ctx, const LatticeView& lattice, float weight,
                         FieldView<float> force, double* value) = 0;
};

/// A penalty of the caller's choice in a pipeline. Each direction of a registration makes one.
struct PenaltyTerm {
  std::string name;  ///< in the records
  double weight = 1;
  std::function<std::unique_ptr<Penalty>()> make;
};

/// Mean over the lattice's inner nodes of the squared second derivatives of u, mixed ones twice, in
/// 1/mm^2 (Rueckert 1999, eq. 4, with the integral taken at the nodes as NiftyReg does). Affine
/// displacements cost nothing.
class BendingEnergy : public Penalty {
 public:
  void prepare(Context& ctx, Extent lattice) override;
  void add_force(Context& ctx, const LatticeView& lattice, float weight, FieldView<float> force,
                 double* value) override;

 private:
  Buffer<float> derivatives_;
  ReduceWorkspace work_;
};

/// Mean over the lattice's inner nodes of (log det(I + grad u))^2: keeps the deformation from
/// folding and from changing volume. Below det = 0.05 the square is continued by its tangent, so
/// that a folded start still has a way back.
class LogJacobianPenalty : public Penalty {
 public:
  void prepare(Context& ctx, Extent lattice) override;
  void add_force(Context& ctx, const LatticeView& lattice, float weight, FieldView<float> force,
                 double* value) override;

 private:
  Buffer<float> cofactors_;
  Buffer<double> node_values_;
  ReduceWorkspace work_;
};

/// Mean over the nodes of sqrt(|grad u|^2 + e^2) - e, grad u by forward differences of the
/// coefficients (u's nine derivatives together: isotropic), e = 0.05: the total variation of the
/// displacement, dimensionless (Vishnevskiy et al. 2017, Isotropic total variation regularization
/// of displacements in parametric image registration; rounded so that it has a derivative). A jump
/// of the displacement, as where organs slide, costs no more than the same change spread out.
class TotalVariation : public Penalty {
 public:
  static constexpr float rounding = 0.05f;  ///< e: below, the square of the gradient counts

  void prepare(Context& ctx, Extent lattice) override;
  void add_force(Context& ctx, const LatticeView& lattice, float weight, FieldView<float> force,
                 double* value) override;

 private:
  Buffer<float> one_over_length_;
  Buffer<double> node_values_;
  ReduceWorkspace work_;
};

}  // namespace freeflow
