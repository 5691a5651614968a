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
#include <freeflow/similarity/slab_measure.h>

namespace freeflow {

class FfdObjective : public Objective {
 public:
  /// The similarity must have been prepared for the level's images and outlive this. grid: the
  /// fixed level's. slab_voxels: FfdOptions::slab_voxels.
  FfdObjective(Context& ctx, SimilarityMeasure& similarity, const ControlPointGrid& lattice,
               const Geometry& grid, const std::vector<PenaltyTerm>& penalties,
               std::size_t slab_voxels);

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

  /// Slices [begin, end) of the fixed grid, gone through slab by slab by one GPU.
  struct Part {
    Context ctx;
    int begin, end;
    DisplacementField u, force;  ///< of a slab
    int first = -1;              ///< of the slab that u is of; -1: of none
    int slices = 0;
  };

  FfdObjective(Context& ctx, SimilarityMeasure& similarity, const ControlPointGrid& lattice,
               const Geometry& grid, const std::vector<PenaltyTerm>& penalties,
               SlabMeasure* by_slabs, std::size_t slab_voxels);
  /// f(first slice, u, force) for the slabs of [begin, end), with u interpolated.
  template <class F>
  void for_slabs(Part& part, int begin, int end, const F& f);
  void gather(Part& part, int begin, int end, int from, int to);
  void evaluate_by_slabs(Context& ctx, FieldView<const float> coefficients,
                         FieldView<float> lattice_force, double* cost);

  SimilarityMeasure& similarity_;
  SlabMeasure* by_slabs_;  // null: the whole at once
  Extent lattice_, grid_;
  Vec3f spacing_;
  SplineSampler sampler_;
  DisplacementField u_, force_;  // where the whole goes at once
  std::vector<Part> parts_;      // where slabs do
  std::vector<Term> penalties_;
};

}  // namespace freeflow
