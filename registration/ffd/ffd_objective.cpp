#include <freeflow/registration/ffd/ffd_objective.h>

namespace freeflow {

FfdObjective::FfdObjective(Context& ctx, SimilarityMeasure& similarity,
                           const ControlPointGrid& lattice, const Geometry& grid,
                           const std::vector<PenaltyTerm>& penalties)
    : similarity_(similarity),
      lattice_(lattice.extent()), spacing_{float(lattice.spacing_mm().x()),
                                           float(lattice.spacing_mm().y()),
                                           float(lattice.spacing_mm().z())},
      sampler_(ctx, lattice, grid), u_(ctx, grid), force_(ctx, grid) {
  for (const PenaltyTerm& p : penalties) {
    penalties_.push_back({p.name, p.weight, p.weight > 0 ? p.make() : nullptr});
    if (penalties_.back().penalty) penalties_.back().penalty->prepare(ctx, lattice_);
  }
}

void FfdObjective::evaluate(Context& ctx, const float* x, float* force, double* terms) {
  const FieldView<const float> coefficients{x, lattice_};
  const FieldView<float> lattice_force{force, lattice_};
  sampler_.evaluate(ctx, coefficients, u_.view());
  similarity_.evaluate(ctx, u_.view(), force_.view(), terms);
  sampler_.adjoint(ctx, force_.view(), lattice_force);
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
