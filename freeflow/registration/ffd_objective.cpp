#include <freeflow/registration/ffd_objective.h>

namespace freeflow {

FfdObjective::FfdObjective(Context& ctx, SimilarityMeasure& similarity, const ControlPointGrid& lattice, const Geometry& grid,
                           double bending, double log_jacobian)
    : similarity_(similarity), lattice_(lattice.extent()), spacing_{float(lattice.spacing_mm().x()), float(lattice.spacing_mm().y()),
                                                                    float(lattice.spacing_mm().z())},
      sampler_(ctx, lattice, grid), u_(ctx, grid), force_(ctx, grid), bending_weight_(bending), log_jacobian_weight_(log_jacobian) {
  if (bending_weight_ > 0) bending_.prepare(ctx, lattice_);
  if (log_jacobian_weight_ > 0) log_jacobian_.prepare(ctx, lattice_);
}

void FfdObjective::evaluate(Context& ctx, const float* x, float* force, double* terms) {
  const FieldView<const float> coefficients{x, lattice_};
  const FieldView<float> lattice_force{force, lattice_};
  sampler_.evaluate(ctx, coefficients, u_.view());
  similarity_.evaluate(ctx, u_.view(), force_.view(), terms);
  sampler_.adjoint(ctx, force_.view(), lattice_force);
  ctx.fill_zero(terms + 1, 2 * sizeof(double));
  if (bending_weight_ > 0) bending_.add_force(ctx, {coefficients, spacing_}, float(bending_weight_), lattice_force, terms + 1);
  if (log_jacobian_weight_ > 0)
    log_jacobian_.add_force(ctx, {coefficients, spacing_}, float(log_jacobian_weight_), lattice_force, terms + 2);
}

double FfdObjective::cost(const double* terms) const { return terms[0] + bending_weight_ * terms[1] + log_jacobian_weight_ * terms[2]; }

void FfdObjective::describe(const double* terms, IterationRecord& record) const {
  record.similarity = terms[0];
  record.penalties = {terms[1], terms[2]};
}

}  // namespace freeflow
