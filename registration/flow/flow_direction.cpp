#include <freeflow/registration/flow/flow_direction.h>

#include <utility>

#include <freeflow/deform/field_operations.h>

namespace freeflow {

namespace {
constexpr double least_jacobian = 0.05;
}

FlowDirection::FlowDirection(Context& ctx, std::span<const ImagePair> images,
                             SimilarityMeasure& measure, const DirectionTerms& terms, double time)
    : measure_(measure), time_(time), kl_weight_(terms.kl),
      penalties_(ctx, images[0].fixed.extent(), terms.penalties) {
  const Geometry& grid = images[0].fixed.geometry();
  if (time != 0) exponential_ = DisplacementField(ctx, grid);
  if (terms.demons_updates) demons_.emplace(ctx, images, terms.channels, terms.of_thirion);
  if (terms.kl > 0) kl_.emplace(ctx, grid.extent, terms.force_kernel);
}

void FlowDirection::evaluate(Context& ctx, FieldView<const float> state, double step,
                             FieldView<float> force, bool with_force, double* terms) {
  FieldView<const float> u = state;
  if (time_ != 0) {
    exponential(ctx, state, exponential_.view(), force, exponential_squarings, time_);
    u = std::as_const(exponential_).view();
  }
  const bool of_measure = with_force && !demons_;
  measure_.evaluate(ctx, u, of_measure ? force : FieldView<float>{nullptr, force.extent}, terms);
  if (with_force && demons_) demons_->evaluate(ctx, u, step, force);
  ctx.fill_zero(terms + 1, sizeof(double));
  penalties_.add_force(ctx, u, force, terms + 2);
  if (!kl_) return;
  kl_->energy(ctx, u, least_jacobian, terms + 1);
  if (with_force) kl_->add_force(ctx, u, kl_weight_, force);
}

}  // namespace freeflow
