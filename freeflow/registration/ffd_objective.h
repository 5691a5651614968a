// Private: the cost of a free-form deformation as the optimizer sees it: similarity + bending + log-Jacobian.
#pragma once

#include <freeflow/deform/control_point_grid.h>
#include <freeflow/registration/optimizer.h>
#include <freeflow/regularize/penalty.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

class FfdObjective : public Objective {
 public:
  /// The similarity must have been prepared for the level's grid.
  FfdObjective(Context& ctx, SimilarityMeasure& similarity, const ControlPointGrid& lattice, const Geometry& grid, double bending,
               double log_jacobian);

  void evaluate(Context& ctx, const float* x, float* force, double* terms) override;
  int terms() const override { return 3; }
  double cost(const double* terms) const override;
  void describe(const double* terms, IterationRecord& record) const override;

 private:
  SimilarityMeasure& similarity_;
  Extent lattice_;
  Vec3f spacing_;
  SplineSampler sampler_;
  DisplacementField u_, force_;
  BendingEnergy bending_;
  LogJacobianPenalty log_jacobian_;
  double bending_weight_, log_jacobian_weight_;
};

}  // namespace freeflow
