#include <freeflow/registration/ffd/ffd_objective.h>

#include <algorithm>

namespace freeflow {

namespace {

/// The measure if it takes slabs and the grid is so large that it should.
SlabMeasure* slab_measure(SimilarityMeasure& similarity, const Geometry& grid,
                          std::size_t slab_voxels) {
  if (grid.extent.count() <= 4 * slab_voxels) return nullptr;
  return dynamic_cast<SlabMeasure*>(&similarity);
}

Geometry slab_of(Geometry grid, std::size_t slab_voxels) {
  const std::size_t slice = std::size_t(grid.extent.x) * grid.extent.y;
  grid.extent.z = int(std::max<std::size_t>(1, slab_voxels / slice));
  return grid;
}

}  // namespace

FfdObjective::FfdObjective(Context& ctx, SimilarityMeasure& similarity,
                           const ControlPointGrid& lattice, const Geometry& grid,
                           const std::vector<PenaltyTerm>& penalties, std::size_t slab_voxels)
    : FfdObjective(ctx, similarity, lattice, grid, penalties,
                   slab_measure(similarity, grid, slab_voxels), slab_of(grid, slab_voxels)) {}

FfdObjective::FfdObjective(Context& ctx, SimilarityMeasure& similarity,
                           const ControlPointGrid& lattice, const Geometry& grid,
                           const std::vector<PenaltyTerm>& penalties, SlabMeasure* by_slabs,
                           Geometry slab)
    : similarity_(similarity), by_slabs_(by_slabs), lattice_(lattice.extent()),
      grid_(grid.extent), spacing_{float(lattice.spacing_mm().x()), float(lattice.spacing_mm().y()),
                                   float(lattice.spacing_mm().z())},
      sampler_(ctx, lattice, grid, by_slabs != nullptr), u_(ctx, by_slabs ? slab : grid),
      force_(ctx, by_slabs ? slab : grid) {
  for (const PenaltyTerm& p : penalties) {
    penalties_.push_back({p.name, p.weight, p.weight > 0 ? p.make() : nullptr});
    if (penalties_.back().penalty) penalties_.back().penalty->prepare(ctx, lattice_);
  }
}

void FfdObjective::evaluate_by_slabs(Context& ctx, FieldView<const float> coefficients,
                                     FieldView<float> lattice_force, double* cost) {
  const auto for_slabs = [&](auto f) {
    for (int first = 0; first < grid_.z; first += u_.extent().z) {
      const Extent slab{grid_.x, grid_.y, std::min(u_.extent().z, grid_.z - first)};
      const FieldView<float> u{u_.view().data, slab};
      sampler_.evaluate_slices(ctx, first, u);
      f(first, u, FieldView<float>{force_.view().data, slab});
    }
  };
  sampler_.take(ctx, coefficients);
  by_slabs_->begin(ctx);
  for_slabs([&](int first, FieldView<const float> u, FieldView<float>) {
    by_slabs_->count(ctx, first, u);
  });
  by_slabs_->conclude(ctx, cost);
  for_slabs([&](int first, FieldView<const float> u, FieldView<float> force) {
    by_slabs_->force(ctx, first, u, force);
    sampler_.gather_slices(ctx, first, force);
  });
  sampler_.finish_adjoint(ctx, lattice_force);
}

void FfdObjective::evaluate(Context& ctx, const float* x, float* force, double* terms) {
  const FieldView<const float> coefficients{x, lattice_};
  const FieldView<float> lattice_force{force, lattice_};
  if (by_slabs_) {
    evaluate_by_slabs(ctx, coefficients, lattice_force, terms);
  } else {
    sampler_.evaluate(ctx, coefficients, u_.view());
    similarity_.evaluate(ctx, u_.view(), force_.view(), terms);
    sampler_.adjoint(ctx, force_.view(), lattice_force);
  }
  ctx.fill_zero(terms + 1, penalties_.size() * sizeof(double));
  for (std::size_t p = 0; p < penalties_.size(); ++p)
    if (const Term& term = penalties_[p]; term.penalty)
      term.penalty->add_force(ctx, {coefficients, spacing_}, float(term.weight), lattice_force,
                              terms + 1 + p);
}

double FfdObjective::cost(const double* terms) const {
  double cost = terms[0];
  for (std::size_t p = 0; p < penalties_.size(); ++p) cost += penalties_[p].weight * terms[1 + p];
  return cost;
}

void FfdObjective::describe(const double* terms, IterationRecord& record) const {
  record.similarity = terms[0];
  record.penalties.assign(terms + 1, terms + this->terms());
}

std::vector<std::string> FfdObjective::penalty_names() const {
  std::vector<std::string> names;
  for (const Term& term : penalties_) names.push_back(term.name);
  return names;
}

}  // namespace freeflow
