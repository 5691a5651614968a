#include <freeflow/registration/flow_direction.h>

#include <utility>

#include <freeflow/deform/field_operations.h>

namespace freeflow {

namespace {
constexpr double smallest_jacobian = 0.05;
}

FlowDirection::FlowDirection(Context& ctx, const ImagePair& images, SimilarityMeasure& measure, const FlowOptions& options, double time)
    : measure_(measure), options_(options), time_(time) {
  if (time != 0) exponential_ = DisplacementField(ctx, images.fixed.geometry());
  if (gives_updates(options)) demons_.emplace(ctx, images, options.demons == DemonsKind::thirion);
  if (options.kl > 0) kl_.emplace(ctx, images.fixed.extent(), options.force_kernel);
}

std::size_t FlowDirection::bytes(const Context& ctx, Extent extent, const FlowOptions& options, bool exponential) {
  const std::size_t per_voxel = (exponential ? 12 : 0) + (gives_updates(options) ? 4 : 0);
  return per_voxel * extent.count() + (options.kl > 0 ? SymmetricKl::bytes(ctx, extent) : 0);
}

void FlowDirection::evaluate(Context& ctx, FieldView<const float> state, double step, FieldView<float> force, bool with_force,
                             double* terms) {
  FieldView<const float> u = state;
  if (time_ != 0) {
    exponential(ctx, state, exponential_.view(), force, exponential_squarings, time_);
    u = std::as_const(exponential_).view();
  }
  const bool of_measure = with_force && !demons_;
  measure_.evaluate(ctx, u, of_measure ? force : FieldView<float>{nullptr, force.extent}, terms);
  if (with_force && demons_) demons_->evaluate(ctx, u, step, force);
  ctx.fill_zero(terms + 1, sizeof(double));
  if (!kl_) return;
  kl_->energy(ctx, u, smallest_jacobian, terms + 1);
  if (with_force) kl_->add_force(ctx, u, options_.kl, force);
}

}  // namespace freeflow
