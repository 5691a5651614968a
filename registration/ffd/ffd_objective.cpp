#include <freeflow/registration/ffd/ffd_objective.h>

#include <algorithm>
#include <utility>

#include <freeflow/core/side_by_side.h>
#include <freeflow/core/stripes.h>

namespace freeflow {

namespace {

/// The measure if it takes slabs and the grid is so large that it should, or several GPUs share it:
/// each then goes through slabs of its own.
SlabMeasure* slab_measure(const Context& ctx, SimilarityMeasure& similarity, const Geometry& grid,
                          std::size_t slab_voxels) {
  if (ctx.sharing() == 1 && grid.extent.count() <= 4 * slab_voxels) return nullptr;
  return dynamic_cast<SlabMeasure*>(&similarity);
}

Geometry slab_of(Geometry grid, int slices, std::size_t slab_voxels) {
  const std::size_t slice = std::size_t(grid.extent.x) * grid.extent.y,
                    most = std::max<std::size_t>(1, slab_voxels / slice);
  grid.extent.z = int(std::min(most, std::size_t(slices)));
  return grid;
}

}  // namespace

FfdObjective::FfdObjective(Context& ctx, SimilarityMeasure& similarity,
                           const ControlPointGrid& lattice, const Geometry& grid,
                           const std::vector<PenaltyTerm>& penalties, std::size_t slab_voxels)
    : FfdObjective(ctx, similarity, lattice, grid, penalties,
                   slab_measure(ctx, similarity, grid, slab_voxels), slab_voxels) {}

FfdObjective::FfdObjective(Context& ctx, SimilarityMeasure& similarity,
                           const ControlPointGrid& lattice, const Geometry& grid,
                           const std::vector<PenaltyTerm>& penalties, SlabMeasure* by_slabs,
                           std::size_t slab_voxels)
    : similarity_(similarity), by_slabs_(by_slabs), lattice_(lattice.extent()),
      grid_(grid.extent), spacing_{float(lattice.spacing_mm().x()), float(lattice.spacing_mm().y()),
                                   float(lattice.spacing_mm().z())},
      sampler_(ctx, lattice, grid, by_slabs != nullptr) {
  if (by_slabs_) {
    std::vector<Context> parts = ctx.parts();
    const int count = int(parts.size());
    for (int k = 0; k < count; ++k) {
      const int begin = first_slice(grid_.z, k, count), end = first_slice(grid_.z, k + 1, count);
      // The border between two parts is gone through in slabs too.
      const Geometry slab = slab_of(grid, std::max(1, end - begin), slab_voxels);
      DisplacementField u(parts[k], slab), force(parts[k], slab);
      parts_.push_back({std::move(parts[k]), begin, end, std::move(u), std::move(force)});
    }
  } else {
    u_ = DisplacementField(ctx, grid);
    force_ = DisplacementField(ctx, grid);
  }
  for (const PenaltyTerm& p : penalties) {
    penalties_.push_back({p.name, p.weight, p.weight > 0 ? p.make() : nullptr});
    if (penalties_.back().penalty) penalties_.back().penalty->prepare(ctx, lattice_);
  }
}

template <class F>
void FfdObjective::for_slabs(Part& part, int begin, int end, const F& f) {
  const int most = part.u.extent().z;
  for (int first = begin; first < end; first += most) {
    const Extent slab{grid_.x, grid_.y, std::min(most, end - first)};
    const FieldView<float> u{part.u.view().data, slab};
    if (part.first != first || part.slices != slab.z) sampler_.evaluate_slices(part.ctx, first, u);
    part.first = first;
    part.slices = slab.z;
    f(first, u, FieldView<float>{part.force.view().data, slab});
  }
}

void FfdObjective::gather(Part& part, int begin, int end, int from, int to) {
  for_slabs(part, begin, end, [&](int first, FieldView<const float> u, FieldView<float> force) {
    by_slabs_->force(part.ctx, first, u, force);
    sampler_.gather_slices(part.ctx, first, force, from, to);
  });
}

void FfdObjective::evaluate_by_slabs(Context& ctx, FieldView<const float> coefficients,
                                     FieldView<float> lattice_force, double* cost) {
  sampler_.take(ctx, coefficients);
  for (Part& part : parts_) part.first = -1;
  by_slabs_->begin(ctx);
  {
    const SideBySide together(ctx);
    for (Part& part : parts_)
      for_slabs(part, part.begin, part.end,
                [&](int first, FieldView<const float> u, FieldView<float>) {
                  by_slabs_->count(part.ctx, int(&part - parts_.data()), first, u);
                });
  }
  by_slabs_->conclude(ctx, cost);
  sampler_.begin_adjoint(ctx);
  {
    const SideBySide together(ctx);
    for (Part& part : parts_)
      gather(part, part.begin, part.end, sampler_.reached_before(part.begin), lattice_.z);
  }
  // A sum goes on from slice to slice: control points that the part before reaches too wait for it.
  int done = 0;
  for (const Part& part : parts_) {
    const int shared = sampler_.reached_before(part.begin);
    gather(parts_.front(), part.begin, sampler_.reaching_before(shared), done, shared);
    done = std::max(done, shared);
  }
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
