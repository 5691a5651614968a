// The energy of a free-form deformation on one level: the similarity, and the weighted penalties on
// the lattice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <freeflow/deform/control_point_grid.h>
#include <freeflow/registration/ffd/optimizer.h>
#include <freeflow/regularize/penalty.h>
#include <freeflow/similarity/similarity_measure.h>

namespace freeflow {

class FfdObjective : public Objective {
 public:
  /// The similarity must have been prepared for the level's images and outlive this. grid: the
  /// fixed level's.
  FfdObjective(Context& ctx, SimilarityMeasure& similarity, const ControlPointGrid& lattice,
               const Geometry& grid, const std::vector<PenaltyTerm>& penalties);

  void evaluate(Context& ctx, const float* x, float* force, double* terms) override;
  int terms() const override { return 1 + int(penalties_.size()); }
  double cost(const double* terms) const override;
  void describe(const double* terms, IterationRecord& record) const override;
  std::vector<std::string> penalty_names() const;

 private:
  struct Term {
    std::string name;
    double weight;
    std::unique_ptr<Penalty> penalty;
  };

  SimilarityMeasure& similarity_;
  Extent lattice_;
  Vec3f spacing_;
  SplineSampler sampler_;
  DisplacementField u_, force_;
  std::vector<Term> penalties_;
};

}  // namespace freeflow
